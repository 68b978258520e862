// The launcher: starts one program several times as the ranks of a run, shows what they print, and
// brings all down when one fails.
//
//   auto command = executable({"./train", "--epochs", "3"});
//   const LaunchResult result = launch({.command = *command, .processes = 4, ...});
//
// Each process is told who it is by the variables of torchrun (runtime/launch/world.h): RANK,
// WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, GROUP_RANK, MASTER_ADDR, MASTER_PORT; and MOTLEY_TOKEN,
// and MOTLEY_ERROR_FILE, where it may say why it fails (runtime/launch/first_failure.h). It
// computes with one thread unless the variables of OpenMP, OpenBLAS or MKL are set.
//
// When one fails, the others have `grace` to end by themselves, then they get SIGTERM, and 5 s
// later SIGKILL. Signals of ours are handed on to all; then there is no hurry: the third one kills.
// None is left on any way out.
//
// Cost: no thread; a look at signals and processes every 20 ms.
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
  std::vector<std::string> command;             // of executable()
  std::string program;                          // as it was called, for people
  int processes = 1;                            // on this machine
  int nodes = 1;                                // machines with as many each
  int node = 0;                                 // which of them this is
  std::string master = "127.0.0.1";             // the machine of rank 0
  std::uint16_t port = 0;                       // there; 0: one that is free, held until the end
  std::string log_dir = {};                     // exists
  bool quiet = false;                           // what they print goes to the logs alone
  Seconds grace = 10;                           // for the others to end when one failed
  Seconds kill_after = 5;                       // SIGTERM did not end them
  std::function<int(int number)> signals = {};  // how many of that signal have come
};

// The command with its program as a path that can be executed: as a shell finds it. The error says
// why there is none.
Result<std::vector<std::string>> executable(const std::vector<std::string>& command);

// A directory for logs: `wanted`, made with its parents unless it is there, or a new one named
// launch-logs/<YYYYMMDD-HHMMSS> (local time), with -2, -3 ... when that is taken.
Result<std::string> make_log_dir(const std::optional<std::string>& wanted,
                                 std::time_t now = std::time(nullptr));

struct LaunchResult {
  std::optional<int> signal;  // the first that stopped us
  std::string failure;        // the box that says who failed and why; empty: none did
};

// The calling thread must live until it returns. Throws std::system_error when a process cannot be
// started; none is left then.
LaunchResult launch(const LauncherOptions& options);

}  // namespace motley
