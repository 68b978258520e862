#include <fmt/format.h>

#include "cli/commands.h"
#include "job/print.h"

namespace motley {

int refuse(const std::string& message) {
  fmt::print(stderr, "motley: {}\n", message);
  return kBadInput;
}

int config_command(const JobFlags& flags) {
  const auto job = load_job(flags.path, flags.overrides, Mode::kConfig);
  if (!job) {
    return refuse(job.error().message);
  }
  fmt::print("{}", to_toml(*job));
  return kDone;
}

}  // namespace motley
