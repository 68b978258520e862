// Watch: records a run in progress and shows it: on the terminal, the live page, in metrics.jsonl
// and in TensorBoard. It also writes the checkpoints of the run, with the record in them, so that a
// run that comes back goes on with the record as well.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dashboard/dashboard.h"
#include "record/background_writer.h"
#include "record/run_dir.h"
#include "record/run_figures.h"
#include "record/run_record.h"
#include "runtime/run/run.h"
#include "session/progress.h"
#include "session/resume_point.h"
#include "session/run_checkpoints.h"
#include "session/run_files.h"
#include "session/staleness.h"

namespace motley {

class Watch final : public RunMonitor {
 public:
  // The dashboard may be null, and `from`, where the run goes on. Throws StateError if the record
  // in it cannot be read.
  Watch(RunFacts facts, ProgressDisplay::Style style, std::unique_ptr<Dashboard> dashboard,
        const ResumePoint* from = nullptr);

  // From now on there are files. Those of a run that goes on are cut to where it was, or copied if
  // they are in another directory. A file that cannot be written is worth a warning: the run goes
  // on. Writes checkpoints if they are wanted, and keeps so many. The directory must outlive this
  // object.
  void open(const RunDir& dir, bool with_checkpoints, int checkpoint_keep);

  void on_begin(const std::function<Activity(int)>& activity_of) override;
  void on_members(std::vector<MemberRecord> members) override;
  void on_term(TermRecord term) override;
  void on_news(RecordPlace place, const WorkerNews& news) override;
  void on_notice(const std::string& line) override { display_.notice(line); }
  void on_warning(const std::string& line) override { display_.warning(line); }
  void on_progress(const RunProgress& progress) override;
  void on_metric(const Metric& metric) override;
  bool wants_checkpoints() override { return checkpoints_.has_value(); }
  void on_checkpoint(std::int64_t samples, State state) override;
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
  // All checkpoints but the last one are on disk, or have failed. Returns how many there are, with
  // the last one.
  std::int64_t finish_checkpoints();
  // A complete run cannot go on. So its checkpoint comes when its results are on disk: if it is
  // killed before, it goes on from an earlier one and makes them.
  void write_last_checkpoint();

  // Waits until the files of the record hold everything, but not for ever.
  void finish_files();

  // The run is over: shows its final state.
  void finish(const Summary& summary);
  void fail(const std::string& why);

 private:
  using Clock = std::chrono::steady_clock;

  // Where it is in its files, for a checkpoint.
  void state(Archive& archive);
  void go_on();
  void go_on_with_record();
  void add_to(State& state);
  void say_problems(const std::vector<std::string>& problems);

  Seconds seconds_since_begin() const;  // wall-clock; call once it has begun
  Moment moment() const;
  void show();
  void publish();
  // Changes a file, off the thread that watches the run: a disk that stalls must not look like
  // silence of the workers.
  void change(const std::filesystem::path& file, const std::function<Status(RunFiles&)>& change);
  void mark();
  std::int64_t step_of(std::int64_t samples) const;
  void end();

  const RunDir* dir_ = nullptr;
  const ResumePoint* const from_;
  RunRecord record_;
  ProgressDisplay display_;
  const std::unique_ptr<Dashboard> dashboard_;
  std::shared_ptr<RunFiles> files_;  // used by the writer; null without a directory
  std::optional<BackgroundWriter> writer_;
  double started_;  // seconds since 1970
  std::string event_file_;
  std::optional<RunCheckpoints> checkpoints_;
  std::optional<Checkpoint> last_checkpoint_;  // of a complete run, until its results are on disk
  std::int64_t checkpoints_before_ = 0;        // when the run went on
  int cuts_ = 0;                               // terms that had ended at the last checkpoint
  std::int64_t cut_samples_ = 0;               // at the last one
  std::int64_t began_samples_ = 0;
  std::optional<Clock::time_point> began_;
  Staleness staleness_;  // in wall-clock seconds since then
  Clock::time_point publish_next_;
  std::function<Activity(int)> activity_of_;
  std::optional<LastModel> last_model_;
  RunFigures marked_;  // last written to TensorBoard
};

}  // namespace motley
