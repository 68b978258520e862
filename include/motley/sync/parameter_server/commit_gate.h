// CommitGate: decides when a parameter server applies a commit. Each method with servers chooses a
// gate; staleness_bound.h has the one for BSP, ASP and SSP.
//
//   gate.arrive({worker, step, node.now()});          // a commit has arrived
//   for (const GateDecision& decision : gate.decide()) {
//     ... apply the commit and answer it, or let it wait; the reason goes into the journal ...
//   }
//
// A gate is pure: it has no Node and no clock, and the same arrivals give the same decisions. Each
// server has a gate of its own, which sees the commits that reach that server.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "motley/base/figure.h"
#include "motley/base/ids.h"
#include "motley/node/payload.h"
#include "motley/state/archive.h"

namespace motley {

// A commit that has arrived. Its worker has no other commit waiting.
struct ArrivedCommit {
  Rank worker = 0;
  // Its number among the worker's bounded commits, from 1; nullopt if the method does not bound it.
  std::optional<std::int64_t> step;
  Seconds at = 0;  // by the server's clock
};

struct GateDecision {
  Rank worker = 0;
  bool applied = true;  // apply it now; false: it waits for a later decision
  // Why this commit is treated differently from the worker's previous one; empty if it is not.
  std::string reason;
  // Sent to the worker with its answer (ServerClient::Reply::notes). Only if the commit is applied.
  Payload note;
};

class CommitGate {
 public:
  virtual ~CommitGate() = default;

  virtual void arrive(const ArrivedCommit& commit) = 0;
  // The worker has done its part and holds no other worker back any more.
  virtual void leave(Rank worker) = 0;
  // The decisions that follow from everything that has arrived. Every commit gets a decision in the
  // first call after its arrival; if it has to wait, it gets a second one when it is applied.
  // Applied commits come first, in the order of their arrival.
  virtual std::vector<GateDecision> decide() = 0;

  // For the summary, at the end of the run.
  virtual Figures figures() const { return {}; }
  // What it keeps from one term to the next. Numbers of commits begin again.
  virtual void state(Archive&) {}
};

}  // namespace motley
