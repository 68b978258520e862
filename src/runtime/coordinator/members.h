// Members: who takes part in a real run: the roster, the rendezvous where processes join, and the
// processes that the coordinator started itself.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "motley/job/job.h"
#include "runtime/coordinator/gathering.h"
#include "runtime/coordinator/local_processes.h"
#include "runtime/coordinator/roster.h"
#include "runtime/rendezvous/rendezvous.h"

namespace motley {

class Members {
 public:
  // Opens the rendezvous; the fabric's token and port are for those who join. The references must
  // outlive this object. Throws RunFailed.
  Members(const Job& job, const Gathering& gathering, const std::string& fabric_token,
          std::uint16_t fabric_port);

  Roster& roster() { return roster_; }
  const Roster& roster() const { return roster_; }
  LocalProcesses& processes() { return processes_; }
  Rendezvous& rendezvous() { return *rendezvous_; }
  const Rendezvous& rendezvous() const { return *rendezvous_; }

  void start_processes();
  // Whether some processes are not started here: they may join late, or never.
  bool awaits_peers() const { return gathering_.worker_command.empty() || gathering_.workers_come; }
  // Throws RunFailed if processes disagree, or if some are missing for too long.
  void throw_if_hopeless(Seconds now) const;

  // A worker or server that was started here and is lost is started again, as a newcomer with a new
  // number, unless that has happened too often. Returns whether it is.
  bool respawn(const ProcessState& lost, Seconds now);
  // Starts another process on this machine, which joins as this worker or server if it can.
  void start_newcomer(ProcessId id, Seconds now);
  // Late peers, and those that were started again, become part of the roster.
  void take_newcomers(Seconds now);
  // This process is gone, or is to be gone.
  void remove(Rank process);

  // "worker 3 (pid 77 on host)"
  std::string describe(Rank process) const;
  std::string host_of(Rank process) const;
  pid_t pid_of(Rank process) const;
  // The machine of every member of the term, by rank.
  std::vector<int> machines() const;

 private:
  Endpoint local_rendezvous() const;
  // What a newcomer will be if it can: a worker that takes the lowest free id has -1.
  static constexpr int kAnyId = -1;

  const Job& job_;
  const Gathering& gathering_;
  Roster roster_;
  std::unique_ptr<Rendezvous> rendezvous_;
  LocalProcesses processes_;
  std::map<std::string, int> respawned_;  // how often, by the name of the process
};

}  // namespace motley
