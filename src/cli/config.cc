#include <fmt/format.h>

#include "cli/commands.h"
#include "job/print.h"
#include "sync/registry.h"

namespace motley {

int refuse(const std::string& message) {
  fmt::print(stderr, "motley: {}\n", message);
  return kBadInput;
}

Result<Job> parse_text(const std::string& text, const JobFlags& flags, Mode mode) {
  return flags.variant
             ? parse_variant(job_schema(), text, flags.path, flags.overrides, mode, *flags.variant)
             : parse_job(job_schema(), text, flags.path, flags.overrides, mode);
}

Result<Job> load_job(const JobFlags& flags, Mode mode) {
  return read_job_file(flags.path).and_then([&](const std::string& text) {
    return parse_text(text, flags, mode);
  });
}

int config_command(const JobFlags& flags) {
  const auto job = load_job(flags, Mode::kConfig);
  if (!job) {
    return refuse(job.error().message);
  }
  fmt::print("{}", to_toml(job_schema(), *job));
  return kDone;
}

}  // namespace motley
