// A job as text.
#pragma once

#include <string>

#include "job/schema.h"

namespace motley {

// The resolved job as a job file, with every key that means something for it. The text depends on
// the job alone, and parse_job() of it gives the same job.
std::string to_toml(const JobSchema& schema, const Job& job);

// Only the keys that have another value than they would have by default.
std::string changes_to_toml(const JobSchema& schema, const Job& job);

// All keys as a Markdown table: name, what the value may be, default, meaning.
std::string describe_keys(const JobSchema& schema);

}  // namespace motley
