// Runs a program in a test: captures its output, limits its time, leaves nothing behind.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/scratch_dir.h"

namespace motley {

struct Finished {
  int code = -1;  // exit code, or 128 + signal as in a shell
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
  // What it has printed so far.
  std::string out() const;
  void signal(int number) const;
  // Waits for it to end; if it does not within the deadline, kills it and throws.
  Finished wait(std::chrono::seconds deadline = std::chrono::seconds(60));

 private:
  pid_t pid_ = -1;
  bool reaped_ = false;
  std::string out_file_;
  std::string err_file_;
};

Finished run(const std::vector<std::string>& command, const std::string& directory = ".");

// The processes that `parent` started.
std::vector<pid_t> children_of(pid_t parent);
bool is_running(pid_t pid);

// Checks until the condition holds; false if it does not within the deadline.
bool eventually(const std::function<bool()>& condition,
                std::chrono::seconds deadline = std::chrono::seconds(30));

std::string read_file(const std::string& path);

}  // namespace motley
