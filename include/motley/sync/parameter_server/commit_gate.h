// CommitGate: decides when a parameter server applies a commit. Each method with servers chooses
// one: staleness_bound.h has those of BSP, ASP and SSP.
//
//   gate.arrive({worker, step, node.now()});          // a commit has come
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

namespace motley {

// A commit of a worker none of whose commits waits.
struct ArrivedCommit {
  Rank worker = 0;
  // Its count among the worker's bounded commits, from 1. None: the method does not bound it.
  std::optional<std::int64_t> step;
  Seconds at = 0;  // by the server's clock
};

struct GateDecision {
  Rank worker = 0;
  bool applied = true;  // now; false: it waits for a later decision
  // Why this worker's commits are not treated as the one before was. Empty: they are.
  std::string reason;
  // For the worker, with its answer (ServerClient::Reply::notes). Only where the commit is applied.
  Payload note;
};

class CommitGate {
 public:
  virtual ~CommitGate() = default;

  virtual void arrive(const ArrivedCommit& commit) = 0;
  // The worker has done its part and holds nobody back any more.
  virtual void leave(Rank worker) = 0;
  // What follows from all that has come. Every commit is decided on in the first call after its
  // arrival; one that has to wait then is decided on once more, when it is applied. Those that are
  // applied come first, in the order of their arrival.
  virtual std::vector<GateDecision> decide() = 0;

  // For the summary, at the end of the run.
  virtual Figures figures() const { return {}; }
};

}  // namespace motley
