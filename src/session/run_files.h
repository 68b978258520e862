// RunFiles: the two files that grow while a run goes on, metrics.jsonl and that of TensorBoard.
// Used by one thread at a time. A file that cannot be created stays away.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "record/appended_file.h"
#include "record/event_file.h"
#include "record/summary.h"

namespace motley {

class RunFiles {
 public:
  // In this directory; `event_file`: the name of the file for TensorBoard. `started`: the
  // wall-clock time of the beginning of the run.
  RunFiles(std::filesystem::path directory, const std::string& event_file, double started)
      : metrics_path_(directory / "metrics.jsonl"),
        events_path_(directory / event_file),
        started_(started) {}

  const std::filesystem::path& metrics_path() const { return metrics_path_; }
  const std::filesystem::path& events_path() const { return events_path_; }

  Status begin_events();
  // For a run that goes on. metrics.jsonl is made anew from the record: what comes after the
  // checkpoint is gone, and nothing is missing if the file is lost.
  Status continue_metrics(const std::vector<Metric>& metrics);
  // The file for TensorBoard is cut after `step`, or copied from the directory `before`, or made
  // anew if it is lost.
  Status continue_events(const std::filesystem::path& before, std::int64_t step,
                         const std::vector<Metric>& metrics);

  // `is_first`: creates the file.
  Status add_metric(const Metric& metric, bool is_first);
  Status add_evaluation(const Metric& metric);
  Status add_scalars(Seconds seconds, std::int64_t step,
                     const std::vector<std::pair<std::string, double>>& scalars);

 private:
  const std::filesystem::path metrics_path_;
  const std::filesystem::path events_path_;
  const double started_;
  std::optional<AppendedFile> metrics_;
  std::optional<EventFile> events_;
};

}  // namespace motley
