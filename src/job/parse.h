// From a job file to a Job: every default filled in, every value checked.
//
//   auto job = parse_job(job_schema(), text, "job.toml", overrides, Mode::kSimulate);
//   if (!job) { print(job.error().message); exit(2); }
//
// A failure is one line: where, what is wrong, what would be right. It is the first problem found:
//   job.toml:12: cluster.speeds has 3 entries, but cluster.workers is 4
//   --set train.bach=3: unknown key "train.bach"; did you mean "train.batch"?
//
// The schema says what keys there are: those of motley (job/keys.cc) and those of its methods
// (sync/registry.h has the one of all known methods). Each [[variant]] is a job of its own: its
// keys applied to this one, with overrides on top, under its own name. All are checked, whichever
// is wanted.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "job/schema.h"

namespace motley {

// What the job is for: some jobs make sense in one mode only.
enum class Mode { kTrain, kSimulate, kConfig, kProgram };

// `file_name` is for messages alone. Overrides are `dotted.key=value`, the last of a key wins; the
// value is TOML, or else taken as a string as it stands. Linear in the length of the text, which
// may be 1 MiB at most.
Result<Job> parse_job(const JobSchema& schema, std::string_view text, const std::string& file_name,
                      std::span<const std::string> overrides, Mode mode);

// One variant of the job, by its name. The other ones may be for another mode.
Result<Job> parse_variant(const JobSchema& schema, std::string_view text,
                          const std::string& file_name, std::span<const std::string> overrides,
                          Mode mode, std::string_view variant);

// What `compare` runs: every variant, in the order of the file, one at least. The job that they
// change may itself be for another mode.
struct Variants {
  std::string name;  // the job's
  std::vector<Job> jobs;
};
Result<Variants> parse_variants(const JobSchema& schema, std::string_view text,
                                const std::string& file_name,
                                std::span<const std::string> overrides, Mode mode);

// The job of a program that brings model, data and optimizer itself, in a world of so many workers:
// what its code has set in `options`, changed by a job file (empty text: none) and by overrides.
Result<Job> parse_program(const JobSchema& schema, const Job& options, int workers,
                          std::string_view text, const std::string& file_name,
                          std::span<const std::string> overrides);

// The text of a job file, to be handed to one of the above; up to a byte more than they take.
Result<std::string> read_job_file(const std::string& path);

}  // namespace motley
