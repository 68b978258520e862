// LocalProcesses: the workers and servers that the coordinator starts on this machine, with CPU
// quotas that hold the workers to the job's speeds. The processes never outlive this object.
#pragma once

#include <signal.h>

#include <optional>
#include <string>
#include <vector>

#include "motley/job/job.h"
#include "runtime/coordinator/gathering.h"
#include "runtime/launch/children.h"

namespace motley {

class LocalProcesses {
 public:
  // The references must outlive this object.
  LocalProcesses(const Job& job, const Gathering& gathering)
      : job_(job), gathering_(gathering), quotas_(static_cast<std::size_t>(job.cluster.workers)) {}

  // Whether this rank's process is started here. Otherwise it is started elsewhere.
  bool starts(Rank rank) const;
  // Starts the process of this number, which joins at `rendezvous`. `worker`: its id, unless it is
  // a server. Throws RunFailed.
  pid_t start(Rank process, std::optional<int> worker, const Endpoint& rendezvous,
              const std::string& token);

  // Sets every worker's quota to its speed at this time of the training. Throws RunFailed.
  void set_quotas(Seconds now);

  std::optional<ChildExit> poll() { return children_.poll(); }
  bool any_running() const { return children_.any_running(); }
  void signal(Rank process, int number) const { children_.signal(process, number); }
  void thaw_all() const { children_.signal_all(SIGCONT); }
  void kill(Rank process) { children_.kill(process); }
  void kill_all() { children_.kill_all(); }

 private:
  bool is_worker(Rank rank) const { return rank < job_.cluster.workers; }

  const Job& job_;
  const Gathering& gathering_;
  std::vector<double> quotas_;  // of each worker, in cores; 0 if not set yet
  Children children_;
};

}  // namespace motley
