#include "session/run_files.h"

#include <nlohmann/json.hpp>

#include "record/scalars.h"

namespace motley {
namespace {

namespace fs = std::filesystem;

template <class File>
Status keep(std::optional<File>& kept, Result<File> file) {
  if (!file) {
    return tl::unexpected(file.error());
  }
  kept = std::move(*file);
  return {};
}

// The first failure counts.
void note(Status& all, Status one) {
  if (all) {
    all = std::move(one);
  }
}

}  // namespace

Status RunFiles::begin_events() { return keep(events_, EventFile::create(events_path_)); }

Status RunFiles::continue_metrics(const std::vector<Metric>& metrics) {
  if (metrics.empty()) {
    std::error_code none;
    fs::remove(metrics_path_, none);
    return {};
  }
  Status status;
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    note(status, add_metric(metrics[i], i == 0));
  }
  return status;
}

Status RunFiles::continue_events(const fs::path& before, std::int64_t step,
                                 const std::vector<Metric>& metrics) {
  std::error_code none;
  fs::copy_file(before / events_path_.filename(), events_path_, fs::copy_options::skip_existing,
                none);
  if (auto continued = EventFile::continue_after(events_path_, step)) {
    events_ = std::move(*continued);
    return {};
  }
  Status status = keep(events_, EventFile::create(events_path_, started_));
  for (const Metric& metric : metrics) {  // the file is lost, but not the evaluations
    note(status, add_evaluation(metric));
  }
  return status;
}

Status RunFiles::add_metric(const Metric& metric, bool is_first) {
  if (is_first) {
    if (Status status = keep(metrics_, AppendedFile::create(metrics_path_)); !status) {
      return status;
    }
  }
  return metrics_ ? metrics_->append_line(to_json(metric).dump()) : Status();
}

Status RunFiles::add_evaluation(const Metric& metric) {
  return add_scalars(metric.seconds, metric.step, scalars_of(metric));
}

Status RunFiles::add_scalars(Seconds seconds, std::int64_t step,
                             const std::vector<std::pair<std::string, double>>& scalars) {
  return events_ ? events_->add(started_ + seconds, step, scalars) : Status();
}

}  // namespace motley
