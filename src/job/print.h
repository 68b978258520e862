// A job as text.
#pragma once

#include <string>
#include <string_view>

#include "job/schema.h"

namespace motley {

// The resolved job as a job file, with every key that means something for it. The text depends on
// the job alone, and parse_job() of it gives the same job.
std::string to_toml(const JobSchema& schema, const Job& job);

// Only the keys that have another value than they would have by default.
std::string changes_to_toml(const JobSchema& schema, const Job& job);

// Markdown: a table of the keys of a method, or of those that are no method's own. A method without
// keys has a table without rows.
std::string describe_keys(const JobSchema& schema, std::string_view method = {});

}  // namespace motley
