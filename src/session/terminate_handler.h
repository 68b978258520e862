// What a process says when an exception ends it: to the other ranks, to whoever reads its output,
// and to `motley launch`, which shows the first cause of all (MOTLEY_ERROR_FILE).
#pragma once

#include <functional>
#include <string>

#include "motley/base/ids.h"

namespace motley {

// From now on an exception that nobody catches ends the process with one line on stderr and exit
// code 2 for Refused, else 1. Twice is once.
void install_terminate_handler();
// For that line.
void set_terminate_rank(Rank rank, int size);

// What happened in this process is why the run fails, even if the program catches it and goes on:
// `motley launch` should know.
void note_cause(const std::string& why);
void forget_cause();  // a new run begins
// Such a line, for what is no exception.
void complain(const std::string& why);

// While this lives, `tell` is called first with an exception that is the program's own and leaves
// this thread. Of other threads' exceptions the others learn that this process is gone.
class TerminateNotice {
 public:
  explicit TerminateNotice(std::function<void(const std::string& why)> tell);
  ~TerminateNotice();
  TerminateNotice(const TerminateNotice&) = delete;
  TerminateNotice& operator=(const TerminateNotice&) = delete;
};

}  // namespace motley
