// LocalProcesses: the workers and servers of a run that its coordinator starts on this machine,
// with the CPU quotas that make them as slow as the job says. None outlives it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "motley/job/job.h"
#include "runtime/coordinator/gathering.h"
#include "runtime/launch/children.h"

namespace motley {

class LocalProcesses {
 public:
  // The references outlive it.
  LocalProcesses(const Job& job, const Gathering& gathering)
      : job_(job), gathering_(gathering), quotas_(static_cast<std::size_t>(job.cluster.workers)) {}

  // Whether this rank's process is started here; otherwise it comes by itself.
  bool starts(Rank rank) const;
  // Starts one, which joins at `rendezvous`. Throws RunFailed.
  pid_t start(Rank rank, const Endpoint& rendezvous, const std::string& token);

  // Gives every worker the quota of its speed at this moment of training. Throws RunFailed.
  void set_quotas(Seconds now);

  std::optional<ChildExit> poll() { return children_.poll(); }
  bool any_running() const { return children_.any_running(); }
  void kill_all() { children_.kill_all(); }

 private:
  bool is_worker(Rank rank) const { return rank < job_.cluster.workers; }

  const Job& job_;
  const Gathering& gathering_;
  std::vector<double> quotas_;  // of each worker, in cores; 0: none yet
  Children children_;
};

}  // namespace motley
