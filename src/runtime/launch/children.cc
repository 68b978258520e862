#include "runtime/launch/children.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>

#include "base/error.h"

namespace motley {
namespace {

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (auto& one : strings) {
    result.push_back(one.data());
  }
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> merged_environment(const std::vector<std::string>& changes) {
  auto name_of = [](std::string_view entry) { return entry.substr(0, entry.find('=')); };
  std::vector<std::string> merged = changes;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const bool replaced = std::any_of(changes.begin(), changes.end(), [&](const auto& change) {
      return name_of(change) == name_of(*entry);
    });
    if (!replaced) {
      merged.emplace_back(*entry);
    }
  }
  return merged;
}

// Runs in the child after fork: only async-signal-safe calls.
[[noreturn]] void become(char* const* command, char* const* environment, int output, int errors,
                         pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) {
    _exit(127);  // the parent died before the line above
  }
  setpgid(0, 0);  // Ctrl-C at the terminal is for the parent, which stops its children in order
  // A signal that arrives after the fork must not run a handler of the parent.
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  signal(SIGPIPE, SIG_DFL);  // the parent may ignore it
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null = open("/dev/null", O_RDWR);
  dup2(null, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(errors, STDERR_FILENO);
  execve(command[0], command, environment);
  _exit(127);
}

// Signals its group, or the process itself if it has left that.
void send_signal(pid_t pid, int number) {
  if (kill(-pid, number) != 0) {
    kill(pid, number);
  }
}

// Waits for the process to end. Until then its pid is also the id of its group and of nothing else,
// so leftover processes can be killed without hitting an unrelated one.
int reap(pid_t pid) {
  siginfo_t ended{};
  while (waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  kill(-pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

std::string describe_status(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return fmt::format("was killed by signal {} ({})", signal, strsignal(signal));
  }
  return fmt::format("exited with code {}", WEXITSTATUS(status));
}

pid_t Children::start(Rank rank, const std::vector<std::string>& command,
                      const std::vector<std::string>& environment, int output, int errors) {
  auto arguments = command;
  auto variables = merged_environment(environment);
  const auto argument_pointers = pointers(arguments);
  const auto variable_pointers = pointers(variables);
  const pid_t parent = getpid();
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = fork();
  const int fork_error = errno;
  if (pid != 0) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  if (pid < 0) {
    throw std::system_error(fork_error, std::generic_category(), "cannot start a process");
  }
  if (pid == 0) {
    become(argument_pointers.data(), variable_pointers.data(), output, errors, parent);
  }
  setpgid(pid,
          pid);  // the child does this too; whichever is first, it is done when start() returns
  running_.push_back({rank, pid});
  return pid;
}

std::optional<ChildExit> Children::poll() {
  for (auto child = running_.begin(); child != running_.end(); ++child) {
    siginfo_t ended{};
    const int flags = WEXITED | WNOHANG | WNOWAIT;
    if (waitid(P_PID, static_cast<id_t>(child->pid), &ended, flags) == 0 && ended.si_pid != 0) {
      const ChildExit exit{child->rank, child->pid, reap(child->pid)};
      running_.erase(child);
      return exit;
    }
  }
  return std::nullopt;
}

void Children::signal_all(int number) const {
  for (const Child& child : running_) {
    send_signal(child.pid, number);
  }
}

void Children::signal(Rank rank, int number) const {
  if (const pid_t pid = pid_of(rank); pid != 0) {
    send_signal(pid, number);
  }
}

void Children::kill(Rank rank) {
  std::erase_if(running_, [&](const Child& child) {
    if (child.rank == rank) {
      send_signal(child.pid, SIGKILL);
      reap(child.pid);
    }
    return child.rank == rank;
  });
}

void Children::kill_all() {
  signal_all(SIGKILL);
  for (const Child& child : running_) {
    reap(child.pid);
  }
  running_.clear();
}

std::vector<Rank> Children::running() const {
  std::vector<Rank> ranks;
  for (const Child& child : running_) {
    ranks.push_back(child.rank);
  }
  return ranks;
}

pid_t Children::pid_of(Rank rank) const {
  for (const Child& child : running_) {
    if (child.rank == rank) {
      return child.pid;
    }
  }
  return 0;
}

}  // namespace motley
