// The directory of one run: job.toml, metrics.jsonl, summary.json, model.pt, record.json,
// trace.json, report.html. A reader sees each file whole or not at all, also while the run goes on
// or after it died; but for TensorBoard's events.out.tfevents.*, which grows record by record.
//
//   auto dir = RunDir::create(out, job.name);
//   auto status = dir->write("summary.json", to_json(summary).dump(2));
#pragma once

#include <ctime>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace motley {

class RunDir {
 public:
  // Without `out`: a new directory runs/<YYYYMMDD-HHMMSS>-<job_name> (local time), with -2, -3 ...
  // when that is taken. With it: that directory, made with its parents unless it exists; what an
  // earlier run left there is removed, so that a run that fails does not show an old summary.
  // Fails when the place is no directory or cannot be written to.
  static Result<RunDir> create(const std::optional<std::string>& out, std::string_view job_name,
                               std::time_t now = std::time(nullptr));

  // Replaces `file` of this directory by `contents`, atomically; on failure (as: disk full) what
  // was there before is still there. Not synced: a power cut may lose it.
  Status write(std::string_view file, std::string_view contents) const;

  const std::filesystem::path& path() const { return path_; }

  // What a run leaves, as "summary.json": no directory in there should have that name.
  static bool is_result(std::string_view name);

 private:
  explicit RunDir(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
};

}  // namespace motley
