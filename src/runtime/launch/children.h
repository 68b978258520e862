// Children: the processes that this process started: workers of a run, runs of a comparison, the
// programs of `motley launch`. None outlives it: they are killed when this object goes out of
// scope, and by the kernel if this process is killed. Each has its own process group, so terminal
// signals reach it only through this process. What a child leaves behind in its group ends with it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "motley/base/ids.h"

namespace motley {

struct ChildExit {
  Rank rank = 0;
  pid_t pid = 0;
  int status = 0;  // as returned by waitpid
};

// "exited with code 3", "was killed by signal 9 (Killed)"
std::string describe_status(int status);

class Children {
 public:
  Children() = default;
  ~Children() { kill_all(); }
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  // Starts a process. `environment` holds NAME=value entries to add or replace. Its stdout and
  // stderr go to the open file `output`, or stderr to a separate one. Call it from a thread that
  // lives as long as the children. Throws std::system_error.
  pid_t start(Rank rank, const std::vector<std::string>& command,
              const std::vector<std::string>& environment, int output) {
    return start(rank, command, environment, output, output);
  }
  pid_t start(Rank rank, const std::vector<std::string>& command,
              const std::vector<std::string>& environment, int output, int errors);

  // The next child that has ended and was not reported yet. Never waits.
  std::optional<ChildExit> poll();

  // Sends a signal to all running children and what they started.
  void signal_all(int number) const;
  // The same for the child of this rank, if it runs.
  void signal(Rank rank, int number) const;

  // Sends SIGKILL to the child of this rank, if it runs, and waits until it is gone. poll() does
  // not report it.
  void kill(Rank rank);

  // Sends SIGKILL to all running children and waits until they are gone.
  void kill_all();

  // 0 if that rank is not running.
  pid_t pid_of(Rank rank) const;
  bool any_running() const { return !running_.empty(); }
  std::vector<Rank> running() const;

 private:
  struct Child {
    Rank rank;
    pid_t pid;
  };
  std::vector<Child> running_;
};

}  // namespace motley
