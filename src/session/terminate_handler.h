// When an uncaught exception ends the process, tells the other ranks, prints one line, and tells
// `motley launch`, which shows the first cause of a failure (MOTLEY_ERROR_FILE).
#pragma once

#include <functional>
#include <string>

#include "motley/base/ids.h"

namespace motley {

// From now on an uncaught exception ends the process with one line on stderr and exit code 2 for
// Refused, otherwise 1. Idempotent.
void install_terminate_handler();
// The rank that the line names.
void set_terminate_rank(Rank rank, int size);

// Tells `motley launch` that the run fails because of this process, even if the program catches the
// exception and goes on.
void note_cause(const std::string& why);
void forget_cause();  // call when a new run begins
// Prints such a line for a failure that is not an exception.
void complain(const std::string& why);

// For the lifetime of this object, an uncaught exception of the program on this thread is first
// passed to `tell`. After one on another thread, the other ranks only see that the process is gone.
class TerminateNotice {
 public:
  explicit TerminateNotice(std::function<void(const std::string& why)> tell);
  ~TerminateNotice();
  TerminateNotice(const TerminateNotice&) = delete;
  TerminateNotice& operator=(const TerminateNotice&) = delete;
};

}  // namespace motley
