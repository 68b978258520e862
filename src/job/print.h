// A job as text.
#pragma once

#include <string>
#include <string_view>

#include "job/schema.h"

namespace motley {

// The resolved job as a job file, with every key that applies to it. The text depends only on
// the job, and parse_job() of the text gives the same job.
std::string to_toml(const JobSchema& schema, const Job& job);

// Only the keys whose value differs from the default.
std::string changes_to_toml(const JobSchema& schema, const Job& job);

// A Markdown table of a method's keys, or of the keys that belong to no method. For a method
// without keys the table has no rows.
std::string describe_keys(const JobSchema& schema, std::string_view method = {});

}  // namespace motley
