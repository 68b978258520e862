#include <signal.h>

#include <cstdio>

#include "cli/commands.h"
#include "runtime/launch/launcher.h"
#include "session/signals.h"

namespace motley {
namespace {

constexpr int kPortOfSeveralMachines = 29500;  // as torchrun

Status check(const LaunchFlags& flags) {
  if (flags.command.empty()) {
    return fail("launch: PROGRAM is missing (see motley launch --help)");
  }
  if (flags.nodes > 1 && !flags.master) {
    return fail("--nnodes {} needs --master-addr: the machine of rank 0", flags.nodes);
  }
  if (flags.nodes > 1 && !flags.node) {
    return fail("--nnodes {} needs --node-rank: which of the machines this is", flags.nodes);
  }
  if (const int node = flags.node.value_or(0); node < 0 || node >= flags.nodes) {
    return fail("--node-rank {}: expected 0 to {}", node, flags.nodes - 1);
  }
  return {};
}

}  // namespace

int launch_command(const LaunchFlags& flags) {
  if (const Status status = check(flags); !status) {
    return refuse(status.error().message);
  }
  const auto command = executable(flags.command);
  if (!command) {
    return refuse(command.error().message);
  }
  const auto log_dir = make_log_dir(flags.log_dir);
  if (!log_dir) {
    return refuse(log_dir.error().message);
  }
  catch_signals();
  signal(SIGPIPE, SIG_IGN);  // the run goes on if nobody reads the output any more
  LauncherOptions options;
  options.command = *command;
  options.program = flags.command.front();
  options.processes = flags.processes;
  options.nodes = flags.nodes;
  options.node = flags.node.value_or(0);
  options.master = flags.master.value_or(options.master);
  options.port =
      static_cast<std::uint16_t>(flags.port.value_or(flags.nodes > 1 ? kPortOfSeveralMachines : 0));
  options.log_dir = *log_dir;
  options.quiet = flags.quiet;
  options.grace = flags.grace;
  options.signals = [](int number) { return signals_caught(number); };
  const LaunchResult result = launch(options);
  if (result.signal) {
    const std::string name = *result.signal == SIGINT ? "SIGINT" : "SIGTERM";
    std::fputs(("motley: stopped by " + name + "\n").c_str(), stderr);
    return exit_code_of(name);
  }
  std::fputs(result.failure.c_str(), stderr);
  return result.failure.empty() ? kDone : kRunFailed;
}

}  // namespace motley
