#include "session/recorded_run.h"

#include <nlohmann/json.hpp>

#include "cluster/cost.h"
#include "job/print.h"
#include "motley/sync/strategy.h"
#include "motley/version.h"
#include "page/page.h"
#include "record/document.h"
#include "record/trace.h"
#include "sync/registry.h"

namespace motley {
namespace {

Summary summarize(const RunRecord& record, const RunOutcome& outcome) {
  const RunFacts& facts = record.facts();
  Summary summary;
  summary.name = facts.name;
  summary.mode = facts.mode;
  summary.seed = facts.seed;
  summary.sync = facts.sync;
  summary.allocation = facts.allocation;
  summary.codec = facts.codec;
  summary.seconds = outcome.seconds;
  summary.batch = facts.batch;
  summary.samples = outcome.samples;
  summary.ideal_samples_per_second = facts.ideal_samples_per_second;
  summary.metrics = record.metrics();
  summary.target_accuracy = facts.target_accuracy;
  summary.stopped = outcome.stopped;
  summary.shares = outcome.allocation;
  summary.max_iteration_gap = outcome.service.max_iteration_gap;
  summary.method = outcome.service.figures;
  summary.simulated_events = outcome.simulated_events;
  summary.workers = outcome.workers;
  summary.servers = outcome.servers;
  return summary;
}

// record.json, trace.json and report.html of a run that is over, however it ended.
Status write_report(const RunDir& dir, const RunRecord& record) {
  const auto document = document_of(record);
  if (Status status = dir.write(kRecordFile, one_line(document) + "\n"); !status) {
    return status;
  }
  if (Status status = dir.write(kReportFile, report_page({document}, record.facts().name));
      !status) {
    return status;
  }
  return dir.write(kTraceFile, trace_of(record));  // last: it may be large
}

Summary run_watched(const RunDir* dir, Task& task, Watch& watch,
                    const std::function<RunOutcome(RunMonitor&)>& run) {
  const RunOutcome outcome = run(watch);
  const Summary summary = summarize(watch.record(), outcome);
  if (dir) {
    if (const std::string model = task.model_file(outcome.model); !model.empty()) {
      write_or_throw(*dir, "model.pt", model);
    }
    write_or_throw(*dir, "summary.json", to_json(summary).dump(2) + "\n");
  }
  watch.finish(summary);
  return summary;
}

}  // namespace

RunFacts facts_of(const Job& job, const std::string& mode, std::int64_t training_samples) {
  RunFacts facts;
  facts.name = job.name;
  facts.mode = mode;
  facts.seed = job.seed;
  facts.sync = job.strategy.sync;
  facts.allocation = job.strategy.allocation;
  facts.codec = job.strategy.codec;
  facts.job = to_toml(job_schema(), job);
  facts.version = kVersion;
  facts.libtorch = job.phantom() ? "" : MOTLEY_TORCH_VERSION;
  facts.workers = job.cluster.workers;
  facts.servers = servers_of(job);
  facts.batch = job.train.batch;
  facts.limit = ledger_options(job, training_samples).limit;
  // Quotas say who is slower, not how many samples a second that is.
  const bool known = mode == "simulate" || !job.cluster.has_quotas();
  facts.ideal_samples_per_second = known ? ideal_rate(job.cluster) : 0;
  facts.target_accuracy = job.train.target_accuracy;
  return facts;
}

Summary record_run(const RunDir* dir, const Job& job, Task& task, Watch& watch,
                   const std::function<RunOutcome(RunMonitor&)>& run) {
  if (dir) {
    write_or_throw(*dir, "job.toml", to_toml(job_schema(), job));
  }
  std::optional<Summary> summary;
  try {
    summary = run_watched(dir, task, watch, run);
  } catch (const RunFailed& failure) {
    watch.fail(failure.what());
    if (dir) {
      (void)write_report(*dir, watch.record());  // the run's own failure is what counts
    }
    throw;
  }
  if (dir) {
    if (Status status = write_report(*dir, watch.record()); !status) {
      throw RunFailed(status.error().message);
    }
  }
  return std::move(*summary);
}

void write_or_throw(const RunDir& dir, std::string_view file, const std::string& contents) {
  if (Status status = dir.write(file, contents); !status) {
    throw RunFailed(status.error().message);
  }
}

}  // namespace motley
