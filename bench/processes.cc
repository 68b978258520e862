#include "processes.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <exception>
#include <string>
#include <vector>

namespace motley::bench {
namespace {

[[noreturn]] void run_child(int rank, pid_t parent, const std::function<void(int)>& body) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) {  // the parent died before the line above
    _exit(1);
  }
  int code = 0;
  try {
    body(rank);
  } catch (const std::exception& e) {
    fmt::print(stderr, "process {}: {}\n", rank, e.what());
    code = 1;
  }
  std::fflush(stderr);
  _exit(code);  // not exit(): the parent writes its own buffered output
}

// How a child ended; empty if it succeeded.
std::string complaint(int status) {
  if (WIFSIGNALED(status)) {
    return fmt::format("killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  }
  const int code = WEXITSTATUS(status);
  return code == 0 ? "" : fmt::format("exit code {}", code);
}

// The next child that ended, or 0 if none did within `left_s`. SIGCHLD must be blocked.
pid_t wait_for_one(double left_s, int& status) {
  const pid_t done = waitpid(-1, &status, WNOHANG);
  if (done != 0 || left_s <= 0) {
    return done;
  }
  sigset_t child_signal;
  sigemptyset(&child_signal);
  sigaddset(&child_signal, SIGCHLD);
  const timespec limit{static_cast<time_t>(left_s) + 1, 0};
  sigtimedwait(&child_signal, nullptr, &limit);
  return waitpid(-1, &status, WNOHANG);
}

double seconds_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void kill_and_reap(std::vector<pid_t>& children) {
  for (const pid_t child : children) {
    kill(child, SIGKILL);
  }
  for (const pid_t child : children) {
    waitpid(child, nullptr, 0);
  }
  children.clear();
}

// True if all of them succeed in time.
bool wait_for_all(std::vector<pid_t> children, unsigned limit_s) {
  const double deadline = seconds_now() + limit_s;
  while (!children.empty()) {
    int status = 0;
    const pid_t done = wait_for_one(deadline - seconds_now(), status);
    const bool late = done == 0 && seconds_now() >= deadline;
    const std::string why = late        ? fmt::format("not done within {} s", limit_s)
                            : done == 0 ? ""
                                        : complaint(status);
    std::erase(children, done);
    if (!why.empty()) {
      fmt::print(stderr, "a process of the benchmark failed: {}\n", why);
      kill_and_reap(children);
      return false;
    }
  }
  return true;
}

}  // namespace

bool run_processes(int count, unsigned limit_s, const std::function<void(int rank)>& body) {
  sigset_t child_signal;
  sigset_t before;
  sigemptyset(&child_signal);
  sigaddset(&child_signal, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child_signal, &before);
  std::fflush(nullptr);

  const pid_t parent = getpid();
  std::vector<pid_t> children;
  for (int rank = 0; rank < count; ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      sigprocmask(SIG_SETMASK, &before, nullptr);
      run_child(rank, parent, body);
    }
    if (child < 0) {
      std::perror("fork");
      kill_and_reap(children);
      break;
    }
    children.push_back(child);
  }
  const bool all_started = std::ssize(children) == count;
  const bool well = all_started && wait_for_all(children, limit_s);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  return well;
}

}  // namespace motley::bench
