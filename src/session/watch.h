// Watch: records a run in progress and shows it: on the terminal, the live page, in metrics.jsonl
// and in TensorBoard.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "dashboard/dashboard.h"
#include "record/appended_file.h"
#include "record/event_file.h"
#include "record/run_dir.h"
#include "record/run_figures.h"
#include "record/run_record.h"
#include "runtime/run/run.h"
#include "session/progress.h"

namespace motley {

class Watch final : public RunMonitor {
 public:
  // Directory and dashboard may be null. A file that cannot be written is worth a warning: the run
  // goes on.
  Watch(const RunDir* dir, RunFacts facts, ProgressDisplay::Style style,
        std::unique_ptr<Dashboard> dashboard);

  void on_begin(const std::function<Activity(Rank)>& activity_of) override;
  void on_news(Rank rank, const WorkerNews& news) override;
  void on_progress(const RunProgress& progress) override;
  void on_metric(const Metric& metric) override;
  void on_last_model(std::int64_t samples, const Snapshot& model) override;
  std::optional<std::string> stop_requested() override;
  bool abandon_requested() override;

  const RunRecord& record() const { return record_; }
  // The last model of a run that failed, if it had any.
  struct LastModel {
    std::int64_t step = 0;
    Snapshot model;
  };
  const std::optional<LastModel>& last_model() const { return last_model_; }
  // The run is over: shows its final state.
  void finish(const Summary& summary);
  void fail(const std::string& why);

 private:
  using Clock = std::chrono::steady_clock;

  Moment moment() const;
  void show();
  void publish();
  void warn_once(const Status& status, bool& warned);
  template <class File>
  void keep(std::optional<File>& kept, Result<File> file, bool& warned);
  void mark();
  std::int64_t step_of(std::int64_t samples) const;
  void end();

  const RunDir* dir_;
  RunRecord record_;
  ProgressDisplay display_;
  const std::unique_ptr<Dashboard> dashboard_;
  std::optional<AppendedFile> metrics_;  // set if it could be created, like the next
  std::optional<EventFile> events_;
  bool warned_of_metrics_ = false;
  bool warned_of_events_ = false;
  const double started_;  // seconds since 1970
  std::optional<Clock::time_point> began_;
  Clock::time_point publish_next_;
  std::function<Activity(Rank)> activity_of_;
  std::optional<LastModel> last_model_;
  RunFigures marked_;  // last written to TensorBoard
};

}  // namespace motley
