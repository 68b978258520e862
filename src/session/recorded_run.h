// A run and what it leaves: its record while it goes, and a directory with everything when it is
// over, however it ended. `motley train`, `motley simulate` and programs all run this way.
#pragma once

#include <functional>
#include <string>
#include <string_view>

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

// `mode` is "train" or "simulate".
RunFacts facts_of(const Job& job, const std::string& mode, std::int64_t training_samples);

// Runs it under the eyes of `watch`. In the directory, which may be none, are then job.toml,
// model.pt, summary.json, and a report of it also when it failed. Throws RunFailed.
Summary record_run(const RunDir* dir, const Job& job, Task& task, Watch& watch,
                   const std::function<RunOutcome(RunMonitor&)>& run);

// Throws RunFailed.
void write_or_throw(const RunDir& dir, std::string_view file, const std::string& contents);

}  // namespace motley
