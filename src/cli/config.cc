#include <fmt/format.h>

#include "cli/commands.h"
#include "job/print.h"

namespace motley {

int refuse(const std::string& message) {
  fmt::print(stderr, "motley: {}\n", message);
  return kBadInput;
}

Result<Job> load_job(const JobFlags& flags, Mode mode) {
  const auto text = read_job_file(flags.path);
  if (!text) {
    return tl::unexpected(text.error());
  }
  return flags.variant ? parse_variant(*text, flags.path, flags.overrides, mode, *flags.variant)
                       : parse_job(*text, flags.path, flags.overrides, mode);
}

int config_command(const JobFlags& flags) {
  const auto job = load_job(flags, Mode::kConfig);
  if (!job) {
    return refuse(job.error().message);
  }
  fmt::print("{}", to_toml(*job));
  return kDone;
}

}  // namespace motley
