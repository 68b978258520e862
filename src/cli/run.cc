// train and simulate: one job, from its file to its run directory.
#include "runtime/run.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/show.h"
#include "cli/signals.h"
#include "cluster/cost.h"
#include "cluster/quotas.h"
#include "compute/load.h"
#include "job/print.h"
#include "record/run_dir.h"
#include "record/summary.h"
#include "runtime/coordinator.h"
#include "runtime/simulate.h"

namespace motley {
namespace {

// Keeps what the run reports: on the screen and in metrics.jsonl, as it comes.
class Monitor final : public RunMonitor {
 public:
  Monitor(const RunDir& dir, ProgressDisplay& display) : dir_(dir), display_(display) {}

  void on_progress(const RunProgress& progress) override { display_.update(progress); }
  void on_metric(const Metric& metric) override {
    metrics_.push_back(metric);
    lines_ += to_json(metric).dump() + "\n";
    write_or_throw(dir_, "metrics.jsonl", lines_);
    display_.evaluated(metric);
  }
  std::optional<std::string> stop_requested() override { return first_signal(); }
  bool abandon_requested() override { return signalled_twice(); }

  std::vector<Metric> take_metrics() { return std::move(metrics_); }

 private:
  const RunDir& dir_;
  ProgressDisplay& display_;
  std::vector<Metric> metrics_;
  std::string lines_;
};

Summary summarize(const Job& job, Mode mode, const RunOutcome& outcome,
                  std::vector<Metric> metrics) {
  Summary summary;
  summary.name = job.name;
  summary.mode = mode == Mode::kTrain ? "train" : "simulate";
  summary.seed = job.seed;
  summary.sync = job.strategy.sync;
  summary.allocation = job.strategy.allocation;
  summary.codec = job.strategy.codec;
  summary.seconds = outcome.seconds;
  summary.batch = job.train.batch;
  summary.samples = outcome.samples;
  // Quotas say who is slower, not how many samples a second that is.
  const bool known = mode == Mode::kSimulate || !job.cluster.has_quotas();
  summary.ideal_samples_per_second = known ? ideal_rate(job.cluster) : 0;
  summary.metrics = std::move(metrics);
  summary.target_accuracy = job.train.target_accuracy;
  summary.stopped = outcome.stopped;
  summary.shares = outcome.allocation;
  summary.max_iteration_gap = outcome.service.max_iteration_gap;
  summary.method = outcome.service.figures;
  summary.simulated_events = outcome.simulated_events;
  summary.workers = outcome.workers;
  summary.servers = outcome.servers;
  return summary;
}

// Whether the kernel can hold every worker to its speed, from the beginning to the last event.
Status check_quotas(const ClusterSpec& cluster) {
  std::vector<Seconds> moments{0};
  std::ranges::transform(cluster.events, std::back_inserter(moments), &SpeedEvent::at);
  for (const Seconds moment : moments) {
    const auto quotas = quotas_at(cluster, moment, cores_here());
    const auto least = std::ranges::min_element(quotas);
    if (*least < CpuQuotas::kLeastCores) {
      return fail(
          "worker {} would have {:.2g} of a core at {:g} s, and the kernel holds no less "
          "than {:g}: raise its speed in cluster.{}",
          least - quotas.begin(), *least, moment, CpuQuotas::kLeastCores,
          moment > 0 ? "event" : "speeds");
    }
  }
  return {};
}

// The quotas that a job wants; nullptr when it wants none.
Result<std::unique_ptr<CpuQuotas>> quotas_for_job(const Job& job, Mode mode) {
  if (mode != Mode::kTrain || !job.cluster.has_quotas()) {
    return nullptr;
  }
  const Status possible = check_quotas(job.cluster);
  auto quotas = possible ? CpuQuotas::create(job.cluster.workers)
                         : Result<CpuQuotas>(tl::unexpected(possible.error()));
  if (!quotas) {
    return fail("cluster.isolate = \"cgroup\" is not possible here: {}", quotas.error().message);
  }
  return std::make_unique<CpuQuotas>(std::move(*quotas));
}

RunOutcome run_job(const Job& job, Task& task, Mode mode, RunMonitor& monitor, CpuQuotas* quotas) {
  if (mode == Mode::kSimulate) {
    return simulate(job, task, monitor);
  }
  return train_with_processes(job, task, monitor,
                              {{"/proc/self/exe", "worker"}, to_toml(job), quotas});
}

// Runs the job into the directory; returns the summary. Throws RunFailed.
Summary run_into(const RunDir& dir, const Job& job, Task& task, Mode mode, const RunFlags& flags,
                 CpuQuotas* quotas) {
  ProgressDisplay display(ProgressDisplay::style_for(flags.quiet), job.train.batch);
  Monitor monitor(dir, display);
  write_or_throw(dir, "job.toml", to_toml(job));
  const RunOutcome outcome = run_job(job, task, mode, monitor, quotas);
  if (const std::string model = task.model_file(outcome.model); !model.empty()) {
    write_or_throw(dir, "model.pt", model);
  }
  const Summary summary = summarize(job, mode, outcome, monitor.take_metrics());
  write_or_throw(dir, "summary.json", to_json(summary).dump(2) + "\n");
  return summary;
}

}  // namespace

void write_or_throw(const RunDir& dir, std::string_view file, const std::string& contents) {
  if (Status status = dir.write(file, contents); !status) {
    throw RunFailed(status.error().message);
  }
}

int run_command(const RunFlags& flags, Mode mode) {
  catch_signals();
  const auto job = load_job(flags.job, mode);
  if (!job) {
    return refuse(job.error().message);
  }
  const auto task = load_task(*job, Parts::kBoth);
  if (!task) {
    return refuse(task.error().message);
  }
  if (const auto signal = first_signal()) {
    return exit_code_of(*signal);  // while loading: there is nothing to save yet
  }
  const auto quotas = quotas_for_job(*job, mode);
  if (!quotas) {
    return refuse(quotas.error().message);
  }
  const auto dir = RunDir::create(flags.out, job->name);
  if (!dir) {
    return refuse(dir.error().message);
  }
  try {
    const Summary summary = run_into(*dir, *job, **task, mode, flags, quotas->get());
    if (flags.json) {
      fmt::print("{}\n", to_json(summary).dump(2));
    } else {
      show(summary, dir->path().string());
    }
  } catch (const RunFailed& failure) {
    spdlog::error("the run failed: {}", failure.what());
    const auto signal = first_signal();
    return signal ? exit_code_of(*signal) : kRunFailed;
  }
  const auto signal = first_signal();
  return signal ? exit_code_of(*signal) : kDone;
}

}  // namespace motley
