// Jobs from text: a valid one, or the error message of an invalid one.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "job/parse.h"
#include "sync/registry.h"

namespace motley {

using Overrides = std::vector<std::string>;

inline Result<Job> parse(std::string_view text, const Overrides& overrides = {},
                         Mode mode = Mode::kConfig) {
  return parse_job(job_schema(), text, "job.toml", overrides, mode);
}

inline Job good(std::string_view text, const Overrides& overrides = {}, Mode mode = Mode::kConfig) {
  const auto job = parse(text, overrides, mode);
  EXPECT_TRUE(job) << job.error().message;
  return job.value_or(Job{});
}

// The message of a job that must be refused.
inline std::string error_of(std::string_view text, const Overrides& overrides = {},
                            Mode mode = Mode::kConfig) {
  const auto job = parse(text, overrides, mode);
  return job ? "accepted" : job.error().message;
}

}  // namespace motley
