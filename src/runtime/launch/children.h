// The processes that this process started: workers of a run, runs of a comparison, the programs of
// `motley launch`. None outlives it: they are killed when this goes out of scope, and by the kernel
// should this process be killed. Each has a process group of its own, so that what is typed at the
// terminal reaches it only through us; what it starts and leaves behind in there ends with it.
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
  int status = 0;  // as waitpid gives it
};

// "exited with code 3", "was killed by signal 9 (Killed)"
std::string describe_status(int status);

class Children {
 public:
  Children() = default;
  ~Children() { kill_all(); }
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  // Starts a process; `environment` holds NAME=value entries to add or replace, and all that it
  // prints goes to the open file `output`, or what are errors to another one. Call from a thread
  // that lives as long as the children should. Throws std::system_error.
  pid_t start(Rank rank, const std::vector<std::string>& command,
              const std::vector<std::string>& environment, int output) {
    return start(rank, command, environment, output, output);
  }
  pid_t start(Rank rank, const std::vector<std::string>& command,
              const std::vector<std::string>& environment, int output, int errors);

  // The next child that has ended and was not reported yet; never waits.
  std::optional<ChildExit> poll();

  // A signal to all that still run, and to what they started.
  void signal_all(int number) const;

  // SIGKILL to all that still run, and waits for them to be gone.
  void kill_all();

  // 0 when that rank is not running.
  pid_t pid_of(Rank rank) const;
  bool any_running() const { return !running_.empty(); }

 private:
  struct Child {
    Rank rank;
    pid_t pid;
  };
  std::vector<Child> running_;
};

}  // namespace motley
