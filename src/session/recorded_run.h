// RecordedRun: runs a job, shows its progress, and leaves a run directory, whether the run succeeds
// or fails. `motley train`, `motley simulate` and programs all run this way.
//
//   RecordedRun recorded(job, "train", training_samples, {.quiet = true});
//   const Summary summary = recorded.run(task, [&](RunMonitor& monitor) { ... });
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "dashboard/dashboard.h"
#include "motley/job/job.h"
#include "motley/sync/task.h"
#include "record/run_dir.h"
#include "record/summary.h"
#include "runtime/run/run.h"
#include "session/watch.h"

namespace motley {

inline constexpr std::string_view kSummaryFile = "summary.json";
inline constexpr std::string_view kModelFile = "model.pt";
inline constexpr std::string_view kRecordFile = "record.json";
inline constexpr std::string_view kTraceFile = "trace.json";
inline constexpr std::string_view kReportFile = "report.html";

// How a run is shown, and where its results go.
struct RunView {
  bool keep = true;                           // writes a run directory
  std::optional<std::string> out = {};        // its path; if not set, a new one in runs/
  bool trace = true;                          // writes trace.json there
  bool quiet = false;                         // shows no progress on stderr
  std::unique_ptr<Dashboard> dashboard = {};  // the live page, if any
  // The run goes on from here, in the same directory unless `out` names another one.
  std::shared_ptr<const ResumePoint> from = {};
};

class RecordedRun {
 public:
  // `mode` is "train" or "simulate"; the job must outlive this object. Writes nothing. Throws
  // Refused if the record to go on from cannot be read.
  RecordedRun(const Job& job, const std::string& mode, std::int64_t training_samples, RunView view);

  // Call it before run(), when nothing else can be refused. Creates the directory, or opens that of
  // the run that goes on and removes what came after the checkpoint; prints the address of the live
  // page. Throws Refused if the directory cannot be created.
  void open();

  // Records the run and shows its progress.
  RunMonitor& monitor() { return *watch_; }
  const RunDir* dir() const { return dir_ ? &*dir_ : nullptr; }

  // Writes job.toml, runs `body`, then writes model.pt, summary.json and a report to the directory.
  // A run that failed leaves a report too, and its last model if it had any. Throws RunFailed, also
  // if one of the first three files cannot be written; the others are worth only a warning.
  Summary run(Task& task, const std::function<RunOutcome(RunMonitor&)>& body);

 private:
  Summary run_watched(Task& task, const std::function<RunOutcome(RunMonitor&)>& body);
  void write_last_model(Task& task) const;
  void write_report() const;

  const Job& job_;
  const std::string mode_;
  const std::string page_;  // address of the live page
  std::optional<RunDir> dir_;
  std::unique_ptr<Watch> watch_;
  const RunView view_;  // without the live page, which the watch has
};

// Throws RunFailed.
void write_or_throw(const RunDir& dir, std::string_view file, const std::string& contents);

}  // namespace motley
