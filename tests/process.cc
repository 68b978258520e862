#include "tests/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace motley {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

std::string temporary_file() {
  std::string name = (fs::temp_directory_path() / "motley-test-XXXXXX").string();
  const int fd = mkstemp(name.data());
  if (fd < 0) {
    throw std::runtime_error("no temporary file");
  }
  close(fd);
  return name;
}

// Fields of /proc/<pid>/stat after the name: state, then parent.
std::optional<std::pair<char, pid_t>> state_and_parent(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(file, line)) {
    return std::nullopt;
  }
  std::istringstream rest(line.substr(line.rfind(')') + 1));
  char state = 0;
  pid_t parent = 0;
  rest >> state >> parent;
  return std::pair(state, parent);
}

}  // namespace

Process::Process(const std::vector<std::string>& command, const std::string& directory)
    : out_file_(temporary_file()), err_file_(temporary_file()) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const auto& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int out = open(out_file_.c_str(), O_WRONLY | O_TRUNC);
    const int err = open(err_file_.c_str(), O_WRONLY | O_TRUNC);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    if (chdir(directory.c_str()) == 0) {
      execvp(arguments[0], arguments.data());
    }
    _exit(127);
  }
}

Process::~Process() {
  if (!reaped_) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  fs::remove(out_file_);
  fs::remove(err_file_);
}

std::string Process::out() const { return read_file(out_file_); }

void Process::signal(int number) const { kill(pid_, number); }

Finished Process::wait(std::chrono::seconds deadline) {
  int status = 0;
  if (!eventually([&] { return waitpid(pid_, &status, WNOHANG) == pid_; }, deadline)) {
    kill(pid_, SIGKILL);
    waitpid(pid_, &status, 0);
    reaped_ = true;
    throw std::runtime_error("the program did not end in time; stderr: " + read_file(err_file_));
  }
  reaped_ = true;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return {code, read_file(out_file_), read_file(err_file_)};
}

Finished run(const std::vector<std::string>& command, const std::string& directory) {
  return Process(command, directory).wait();
}

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid > 0) {
      const auto found = state_and_parent(pid);
      if (found && found->second == parent) {
        children.push_back(pid);
      }
    }
  }
  return children;
}

bool is_running(pid_t pid) {
  const auto found = state_and_parent(pid);
  return found && found->first != 'Z';
}

bool eventually(const std::function<bool()>& condition, std::chrono::seconds deadline) {
  const auto end = std::chrono::steady_clock::now() + deadline;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) {
      return false;
    }
    poll(nullptr, 0, 5);  // leaves the processor to the program under test
  }
  return true;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream contents;
  contents << file.rdbuf();
  return contents.str();
}

}  // namespace motley
