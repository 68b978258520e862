// RecordedRun: a run, what is shown of it while it goes, and what it leaves: a directory with
// everything when it is over, however it ended. `motley train`, `motley simulate` and programs all
// run this way.
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

inline constexpr std::string_view kRecordFile = "record.json";
inline constexpr std::string_view kTraceFile = "trace.json";
inline constexpr std::string_view kReportFile = "report.html";

// How a run is shown, and where it is kept.
struct RunView {
  bool keep = true;                           // in a directory
  std::optional<std::string> out = {};        // that directory; none: one in runs/
  bool quiet = false;                         // nothing on stderr
  std::unique_ptr<Dashboard> dashboard = {};  // the live page, if there is one
};

class RecordedRun {
 public:
  // `mode` is "train" or "simulate"; the job outlives it. Makes the directory, and says where the
  // live page is. Throws Refused when the directory cannot be made, RunFailed when it cannot be
  // written to.
  RecordedRun(const Job& job, const std::string& mode, std::int64_t training_samples, RunView view);

  // Keeps the record of the run, and shows it.
  RunMonitor& monitor() { return *watch_; }
  const RunDir* dir() const { return dir_ ? &*dir_ : nullptr; }

  // Runs `body`. In the directory are then job.toml, model.pt, summary.json and a report; a run
  // that failed leaves a report, too. Throws RunFailed.
  Summary run(Task& task, const std::function<RunOutcome(RunMonitor&)>& body);

 private:
  Summary run_watched(Task& task, const std::function<RunOutcome(RunMonitor&)>& body);
  Status write_report() const;

  const Job& job_;
  std::optional<RunDir> dir_;
  std::unique_ptr<Watch> watch_;
};

// Throws RunFailed.
void write_or_throw(const RunDir& dir, std::string_view file, const std::string& contents);

}  // namespace motley
