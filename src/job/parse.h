// Parses a job file into a Job, with all defaults filled in and all values checked.
//
//   auto job = parse_job(job_schema(), text, "job.toml", overrides, Mode::kSimulate);
//   if (!job) { print(job.error().message); exit(2); }
//
// An error is one line about the first problem found: where it is, what is wrong, what is expected:
//   job.toml:12: cluster.speeds has 3 entries, but cluster.workers is 4
//   --set train.bach=3: unknown key "train.bach"; did you mean "train.batch"?
//
// The schema lists the keys: those of motley (job/keys.cc) and those of its methods
// (sync/registry.h has the schema of all known methods). Each [[variant]] is a job of its own, with
// its own name: the file's job, changed by the keys of the variant and then by the overrides. All
// variants are checked, even those that are not asked for.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "job/schema.h"

namespace motley {

// What the job is used for. Some jobs are valid in one mode only.
enum class Mode { kTrain, kSimulate, kConfig, kProgram };

// `file_name` is used in messages only. Overrides are `dotted.key=value`; the last one of a key
// wins. A value that is not TOML is taken as a string. Takes time linear in the length of the text,
// which may be at most 1 MiB.
Result<Job> parse_job(const JobSchema& schema, std::string_view text, const std::string& file_name,
                      std::span<const std::string> overrides, Mode mode);

// One variant of the job, by its name. The other variants need not be valid in this mode.
Result<Job> parse_variant(const JobSchema& schema, std::string_view text,
                          const std::string& file_name, std::span<const std::string> overrides,
                          Mode mode, std::string_view variant);

// What `compare` runs: all variants in the order of the file, at least one. The job that they
// change need not be valid in this mode itself.
struct Variants {
  std::string name;  // of the job
  std::vector<Job> jobs;
};
Result<Variants> parse_variants(const JobSchema& schema, std::string_view text,
                                const std::string& file_name,
                                std::span<const std::string> overrides, Mode mode);

// The job of a program that brings its own model, data and optimizer, with this many workers: the
// `options` set in its code, changed by a job file (empty text if there is none) and by overrides.
Result<Job> parse_program(const JobSchema& schema, const Job& options, int workers,
                          std::string_view text, const std::string& file_name,
                          std::span<const std::string> overrides);

// The text of a job file, for the functions above. Reads at most one byte more than they accept.
Result<std::string> read_job_file(const std::string& path);

}  // namespace motley
