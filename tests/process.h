// Runs a program in a test: its output captured, a deadline on everything, nothing left behind.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace motley {

struct Finished {
  int code = -1;  // exit code, or 128 + signal as a shell says it
  std::string out;
  std::string err;
};

class Process {
 public:
  explicit Process(const std::vector<std::string>& command, const std::string& directory = ".");
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const;
  // Waits for it to end; kills it and throws when it does not within the deadline.
  Finished wait(std::chrono::seconds deadline = std::chrono::seconds(60));

 private:
  pid_t pid_ = -1;
  bool reaped_ = false;
  std::string out_file_;
  std::string err_file_;
};

Finished run(const std::vector<std::string>& command, const std::string& directory = ".");

// The processes that `parent` started, whatever they have become.
std::vector<pid_t> children_of(pid_t parent);
bool is_running(pid_t pid);

// Looks until the condition holds; false when it does not within the deadline.
bool eventually(const std::function<bool()>& condition,
                std::chrono::seconds deadline = std::chrono::seconds(30));

// A new empty directory, removed with all it holds at the end of the test.
class ScratchDir {
 public:
  ScratchDir();
  ~ScratchDir();
  ScratchDir(const ScratchDir&) = delete;
  ScratchDir& operator=(const ScratchDir&) = delete;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  // Writes a file and returns its path.
  std::string write(const std::string& name, const std::string& contents) const;

 private:
  std::string path_;
};

std::string read_file(const std::string& path);

}  // namespace motley
