// Gathering: which processes take part in a real run, and where they join.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "motley/base/ids.h"
#include "runtime/coordinator/cpu_quota.h"
#include "runtime/rendezvous/rendezvous.h"
#include "state/state.h"

namespace motley {

// The processes of a run: started by the coordinator, or started elsewhere and joining by
// themselves.
struct Gathering {
  // The command that runs a worker or a server. "--join HOST:PORT --rank N" is appended, and the
  // token is passed in the environment variable kTokenVariable. If empty, nothing is started here.
  std::vector<std::string> worker_command = {};
  std::string job_text = {};    // the resolved job, handed to every worker
  CpuQuotas* quotas = nullptr;  // limits workers to their speeds; if null, they pace themselves
  bool workers_come = false;    // workers are started elsewhere: only servers are started here

  // Address and port of the rendezvous; port 0 takes any free port.
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;
  // All processes must agree with this (runtime/rendezvous/rendezvous.h). If it has no token, a
  // random one is used. If it has a rank, the worker of that rank is in this process and joins
  // without the rendezvous.
  Peer host = {};
  Seconds patience = 60;  // time limit for all to join
  // The state of the run that is resumed; null for a new one.
  std::shared_ptr<const State> resume = {};
};

// Fills in the token, if processes are started here, and the version.
Gathering completed(Gathering gathering);

}  // namespace motley
