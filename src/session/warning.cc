#include "session/warning.h"

#include <cstdio>

namespace motley {

void print_notice(const std::string& message) {
  // Ignores errors: a closed stderr must not fail the run.
  std::fputs(fmt::format("motley: {}\n", message).c_str(), stderr);
  std::fflush(stderr);
}

bool warn_unless(const Status& status) {
  if (!status) {
    print_notice("warning: " + status.error().message);
  }
  return !status;
}

}  // namespace motley
