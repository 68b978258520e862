// The link probe: a run that trains nothing and measures the links between its ranks by plain
// transfers. `motley calibrate` runs it as a method of its own, on the same workers, coordinator
// and sockets as any other run.
//
//   register_link_probes();                            // in every process of the run
//   const Job probe = link_probe_for(job);
//   RunOutcome outcome = ... run it, for real or simulated ...
//   const auto links = links_of(outcome.service.figures);   // runtime/calibrate/measured_links.h
//
// The service on the coordinator orders one rank, or all of them at once, to exchange bytes with
// others, in pieces. The rank reports when each piece has arrived, there or with itself: one clock
// measures a whole exchange, so clocks need not agree.
//
// What is measured:
// - Latency: half the time of a message of no size and its answer, between any two machines.
// - Up: a machine sends to all others at once, to each as much as it can take. Down: all send to
// it.
//   So a link that is faster than those of the others is found, too.
// - Together: each machine sends to the next at once. If that is less than their links allow, they
//   share something else (cluster.backbone).
// - Unevenness: several machines with like links send to one of them; how long before the last does
//   an average one end?
// - Within a machine: each of its workers sends to the next at once.
// - Memory: how fast a rank adds numbers, for Node::process().
//
// Cost: about a second per machine and direction, 20 messages per pair of machines.
#pragma once

#include "motley/job/job.h"
#include "motley/sync/method.h"

namespace motley {

// Adds the methods of the probe to those that a job may name. Call it after the user's own job is
// read, so that it cannot name them.
void register_link_probes();

// The probe for the machines of a job. If the job has servers, the probe has one.
Job link_probe_for(const Job& job);

}  // namespace motley
