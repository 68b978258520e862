// Warnings about a run that goes on.
#pragma once

#include <string>

#include "base/error.h"

namespace motley {

// Prints `motley: message` on stderr. Never fails.
void print_notice(const std::string& message);

// Warns, unless the status is good: a file of a run's record cannot be written. Returns whether it
// has warned.
bool warn_unless(const Status& status);

}  // namespace motley
