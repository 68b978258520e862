// RunDir: the directory of one run, with job.toml, metrics.jsonl, summary.json, model.pt,
// record.json, trace.json and report.html. A reader sees each file whole or not at all, also during
// the run and after a crash. Two files grow during the run (record/appended_file.h): metrics.jsonl
// line by line, of which a reader sees no half either, and TensorBoard's events.out.tfevents.*
// record by record. Only if the machine dies may the last line or record be torn.
//
//   auto dir = RunDir::create(out, job.name);
//   auto status = dir->write("summary.json", to_json(summary).dump(2));
#pragma once

#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "record/dir_lock.h"
#include "record/whole_file.h"

namespace motley {

class RunDir {
 public:
  // Without `out`: creates runs/<YYYYMMDD-HHMMSS>-<job_name> (local time), with -2, -3 ... appended
  // if that exists. With `out`: creates that directory and its parents unless it exists; results of
  // an earlier run in it are removed, so that a failed run does not show an old summary. Fails if
  // the path is not a directory, cannot be written to, or is in use by another run. `durable`:
  // whether files must survive a power failure.
  static Result<RunDir> create(const std::optional<std::string>& out, std::string_view job_name,
                               Durable durable = Durable::kYes,
                               std::time_t now = std::time(nullptr));

  // The directory of a run that goes on. What described its end is removed: model.pt, summary.json
  // and the reports. Fails if another run is using it.
  static Result<RunDir> reopen(const std::filesystem::path& path, Durable durable = Durable::kYes);

  // Replaces `file` in this directory atomically. On failure (disk full, for example) the old file
  // remains.
  Status write(std::string_view file, std::string_view contents) const;

  const std::filesystem::path& path() const { return path_; }

  // The run is over: another one may use the directory.
  void release() { lock_.reset(); }

  // True for the name of a file that a run writes, such as "summary.json". Do not create a
  // directory with that name in a run directory.
  static bool is_result(std::string_view name);

 private:
  // Removes what the run must not find there.
  static Result<RunDir> open(const std::filesystem::path& path,
                             const std::vector<std::filesystem::path>& superfluous,
                             Durable durable);
  RunDir(std::filesystem::path path, Durable durable, DirLock lock)
      : path_(std::move(path)),
        durable_(durable),
        lock_(std::make_shared<DirLock>(std::move(lock))) {}

  std::filesystem::path path_;
  Durable durable_;
  std::shared_ptr<DirLock> lock_;  // of all copies
};

}  // namespace motley
