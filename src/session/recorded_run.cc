#include "session/recorded_run.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "cluster/cost.h"
#include "job/choices.h"
#include "job/print.h"
#include "motley/sync/strategy.h"
#include "motley/version.h"
#include "page/page.h"
#include "record/document.h"
#include "record/trace.h"
#include "runtime/simulate/simulate.h"
#include "session/warning.h"
#include "state/checkpoint_store.h"
#include "sync/registry.h"

namespace motley {
namespace {

Summary summarize(const RunRecord& record, const RunOutcome& outcome) {
  const RunFacts& facts = record.facts();
  Summary summary;
  summary.name = facts.name;
  summary.mode = facts.mode;
  summary.simulator = facts.simulator;
  summary.seed = facts.seed;
  summary.sync = facts.sync;
  summary.allocation = facts.allocation;
  summary.codec = facts.codec;
  summary.seconds = outcome.seconds;
  summary.batch = facts.batch;
  summary.samples = outcome.samples;
  summary.ideal_samples_per_second =
      outcome.ideal_samples_per_second.value_or(facts.ideal_samples_per_second);
  summary.metrics = record.metrics();
  summary.target_accuracy = facts.target_accuracy;
  summary.stopped = outcome.stopped;
  summary.shares = outcome.allocation;
  summary.max_iteration_gap = outcome.service.max_iteration_gap;
  summary.method = outcome.service.figures;
  summary.simulated_events = outcome.simulated_events;
  summary.terms = outcome.terms;
  summary.members = outcome.members;
  summary.losses = outcome.losses;
  summary.workers = outcome.workers;
  summary.former_workers = outcome.former_workers;
  summary.servers = outcome.servers;
  return summary;
}

// `mode` is "train" or "simulate".
RunFacts facts_of(const Job& job, const std::string& mode, std::int64_t training_samples) {
  RunFacts facts;
  facts.name = job.name;
  facts.mode = mode;
  if (mode == "simulate") {
    facts.simulator = kSimulatorVersion;
  }
  facts.seed = job.seed;
  facts.sync = job.strategy.sync;
  facts.allocation = job.strategy.allocation;
  facts.codec = name_of(job.strategy.codec);
  facts.job = to_toml(job_schema(), job);
  facts.version = kVersion;
  facts.libtorch = job.phantom() ? "" : MOTLEY_TORCH_VERSION;
  facts.workers = job.cluster.workers;
  facts.servers = servers_of(job);
  facts.batch = job.train.batch;
  facts.limit = ledger_options(job, training_samples).limit;
  // Quotas limit CPU time: they say which worker is slower, but not how many samples per second.
  const bool known = mode == "simulate" || !job.cluster.has_quotas();
  facts.ideal_samples_per_second = known ? ideal_rate(job.cluster) : 0;
  facts.target_accuracy = job.train.target_accuracy;
  return facts;
}

// A simulation can be repeated and gives the same result, so it does not wait for the disk.
Durable durable_of(const std::string& mode) {
  return mode == "simulate" ? Durable::kNo : Durable::kYes;
}

// Whether the run goes on in the directory in which it was.
bool goes_on_in_place(const RunView& view) {
  std::error_code none;
  return view.from && !view.from->run.empty() &&
         (!view.out || std::filesystem::equivalent(view.from->run, *view.out, none));
}

std::optional<RunDir> create_dir(const RunView& view, const std::string& job_name,
                                 Durable durable) {
  if (!view.keep) {
    return std::nullopt;
  }
  const bool in_place = goes_on_in_place(view);
  auto dir = in_place ? RunDir::reopen(view.from->run, durable)
                      : RunDir::create(view.out, job_name, durable);
  if (!dir) {
    throw Refused(dir.error().message);
  }
  // Checkpoints of an earlier run, or from after the one to go on from, would be taken for this
  // run's.
  const std::filesystem::path checkpoints = dir->path() / kCheckpointsDirectory;
  CheckpointStore store(real_files(), checkpoints);
  if (std::filesystem::exists(checkpoints)) {
    if (const Status status = store.remove_newer(in_place ? view.from->checkpoint.step : -1);
        !status) {
      throw Refused(status.error().message);
    }
  }
  return std::move(*dir);
}

// At the end of a run, its directory is free for another one.
class Held {
 public:
  explicit Held(std::optional<RunDir>& dir) : dir_(dir) {}
  ~Held() {
    if (dir_) {
      dir_->release();
    }
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  std::optional<RunDir>& dir_;
};

std::unique_ptr<Watch> watch_of(const Job& job, const std::string& mode,
                                std::int64_t training_samples, RunView& view) {
  try {
    return std::make_unique<Watch>(facts_of(job, mode, training_samples),
                                   ProgressDisplay::style_for(view.quiet),
                                   std::move(view.dashboard), view.from.get());
  } catch (const StateError& error) {
    throw Refused(fmt::format("{}: {}", view.from->path.string(), error.what()));
  }
}

}  // namespace

RecordedRun::RecordedRun(const Job& job, const std::string& mode, std::int64_t training_samples,
                         RunView view)
    : job_(job),
      mode_(mode),
      page_(view.dashboard ? view.dashboard->url() : ""),
      watch_(watch_of(job, mode, training_samples, view)),
      view_(std::move(view)) {}

void RecordedRun::open() {
  dir_ = create_dir(view_, job_.name, durable_of(mode_));
  if (!page_.empty() && !view_.quiet) {
    fmt::print(stderr, "motley: watch the run at {}\n", page_);
  }
  if (dir_) {
    watch_->open(*dir_, job_.train.checkpoint_every != 0, job_.train.checkpoint_keep);
  }
}

Summary RecordedRun::run(Task& task, const std::function<RunOutcome(RunMonitor&)>& body) {
  const Held held(dir_);
  if (dir_) {
    write_or_throw(*dir_, "job.toml", to_toml(job_schema(), job_));
  }
  std::optional<Summary> summary;
  try {
    summary = run_watched(task, body);
  } catch (const std::exception& failure) {
    watch_->finish_checkpoints();
    watch_->fail(reason_of(failure));
    write_last_model(task);
    write_report();
    throw;
  }
  write_report();
  return std::move(*summary);
}

Summary RecordedRun::run_watched(Task& task, const std::function<RunOutcome(RunMonitor&)>& body) {
  const RunOutcome outcome = body(*watch_);
  Summary summary = summarize(watch_->record(), outcome);
  summary.checkpoints = watch_->finish_checkpoints();
  summary.resumed_from = view_.from ? std::optional(view_.from->path.string()) : std::nullopt;
  if (dir_) {
    if (const std::string model = task.model_file(outcome.model); !model.empty()) {
      write_or_throw(*dir_, kModelFile, model);
    }
    write_or_throw(*dir_, kSummaryFile, to_json(summary).dump(2) + "\n");
  }
  watch_->write_last_checkpoint();
  watch_->finish(summary);
  return summary;
}

// What a failed run has learnt so far. The failure matters more than trouble with this file.
void RecordedRun::write_last_model(Task& task) const {
  const auto& last = watch_->last_model();
  std::string model;
  try {
    model = dir_ && last ? task.model_file(last->model) : "";
  } catch (const std::exception& error) {
    print_notice(fmt::format("warning: the last model cannot be saved: {}", reason_of(error)));
  }
  if (!model.empty() && !warn_unless(dir_->write(kModelFile, model))) {
    print_notice(fmt::format("the model of step {} is in {}", last->step,
                             (dir_->path() / kModelFile).string()));
  }
}

// Writes record.json, report.html and trace.json (unless it is not wanted), whether the run
// succeeded or failed. They are worth a warning, but not the run.
void RecordedRun::write_report() const {
  if (!dir_) {
    return;
  }
  const RunRecord& record = watch_->record();
  const auto document = document_of(record);
  warn_unless(dir_->write(kRecordFile, one_line(document) + "\n"));
  warn_unless(dir_->write(kReportFile, report_page({document}, record.facts().name)));
  if (view_.trace) {
    warn_unless(dir_->write(kTraceFile, trace_of(record)));  // last: it may be large
  }
}

void write_or_throw(const RunDir& dir, std::string_view file, const std::string& contents) {
  if (Status status = dir.write(file, contents); !status) {
    throw RunFailed(status.error().message);
  }
}

}  // namespace motley
