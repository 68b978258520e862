// The launcher: starts one program several times as the ranks of a run, shows their output, and
// ends all of them if one fails.
//
//   auto command = executable({"./train", "--epochs", "3"});
//   const LaunchResult result = launch({.command = *command, .processes = 4, ...});
//
// Each process learns who it is from the variables of torchrun (runtime/launch/world.h): RANK,
// WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, GROUP_RANK, MASTER_ADDR, MASTER_PORT. It also gets
// MOTLEY_TOKEN, MOTLEY_ERROR_FILE, where it can say why it fails (runtime/launch/first_failure.h),
// and MOTLEY_ELASTIC_FILE, where it can say that the others go on if it is lost
// (runtime/launch/lost_ranks.h). Then it is started again, in the same environment. It computes
// with one thread unless the variables of OpenMP, OpenBLAS or MKL are set.
//
// If one fails, the others have `grace` to end by themselves; then they get SIGTERM, and 5 s later
// SIGKILL. Signals to the launcher are forwarded to all processes; after that there is no time
// limit, but the third signal kills. The first SIGTERM is for rank 0 alone where the others would
// leave an elastic run. No process is left behind.
//
// Cost: no thread; a check of signals and processes every 20 ms.
#pragma once

#include <cstdint>
#include <ctime>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "motley/base/ids.h"

namespace motley {

struct LauncherOptions {
  std::vector<std::string> command;  // from executable()
  std::string program;               // as the user typed it, for messages
  int processes = 1;                 // on this machine
  int nodes = 1;                     // number of machines, with equally many processes each
  int node = 0;                      // index of this machine
  std::string master = "127.0.0.1";  // the machine of rank 0
  std::uint16_t port = 0;            // on that machine; 0: a free one, reserved until the end
  std::string log_dir = {};          // must exist
  bool quiet = false;                // output goes to the logs only
  Seconds grace = 10;                // for the others to end after a failure
  Seconds kill_after = 5;            // after SIGTERM
  std::function<int(int number)> signals = {};  // how often that signal has arrived
};

// The command with its program replaced by an executable path, found as a shell would. The error
// says why there is none.
Result<std::vector<std::string>> executable(const std::vector<std::string>& command);

// A directory for logs: `wanted`, created with its parents unless it exists, or a new one named
// launch-logs/<YYYYMMDD-HHMMSS> (local time), with -2, -3 ... appended if that exists.
Result<std::string> make_log_dir(const std::optional<std::string>& wanted,
                                 std::time_t now = std::time(nullptr));

struct LaunchResult {
  std::optional<int> signal;  // the first signal that stopped the run
  // The box that says who failed and why; empty if none did, whoever was lost.
  std::string failure;
};

// The calling thread must live until it returns. Throws std::system_error if a process cannot be
// started; then none is left.
LaunchResult launch(const LauncherOptions& options);

}  // namespace motley
