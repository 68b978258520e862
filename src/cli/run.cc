// train and simulate: one job, from its file to its run directory.
#include "runtime/run.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/show.h"
#include "cli/signals.h"
#include "cli/watch.h"
#include "cluster/cost.h"
#include "cluster/quotas.h"
#include "compute/load.h"
#include "job/print.h"
#include "motley/version.h"
#include "page/page.h"
#include "record/run_dir.h"
#include "record/summary.h"
#include "runtime/coordinator.h"
#include "runtime/simulate.h"
#include "sync/strategy.h"

namespace motley {
namespace {

RunFacts facts_of(const Job& job, Mode mode, const Task& task) {
  RunFacts facts;
  facts.name = job.name;
  facts.mode = mode == Mode::kTrain ? "train" : "simulate";
  facts.seed = job.seed;
  facts.sync = job.strategy.sync;
  facts.allocation = job.strategy.allocation;
  facts.codec = job.strategy.codec;
  facts.job = to_toml(job);
  facts.version = kVersion;
  facts.libtorch = job.phantom() ? "" : MOTLEY_TORCH_VERSION;
  facts.workers = job.cluster.workers;
  facts.servers = job.servers();
  facts.batch = job.train.batch;
  facts.limit = ledger_options(job, task.training_samples()).limit;
  // Quotas say who is slower, not how many samples a second that is.
  const bool known = mode == Mode::kSimulate || !job.cluster.has_quotas();
  facts.ideal_samples_per_second = known ? ideal_rate(job.cluster) : 0;
  facts.target_accuracy = job.train.target_accuracy;
  return facts;
}

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

// Runs the job; what it leaves is in the directory. Throws RunFailed.
Summary run_watched(const RunDir& dir, const Job& job, Task& task, Mode mode, CpuQuotas* quotas,
                    Watch& watch) {
  const RunOutcome outcome = run_job(job, task, mode, watch, quotas);
  if (const std::string model = task.model_file(outcome.model); !model.empty()) {
    write_or_throw(dir, "model.pt", model);
  }
  const Summary summary = summarize(watch.record(), outcome);
  write_or_throw(dir, "summary.json", to_json(summary).dump(2) + "\n");
  watch.finish(summary);
  return summary;
}

// And the report of it, also when it fails. Throws RunFailed.
Summary run_into(const RunDir& dir, const Job& job, Task& task, Mode mode, CpuQuotas* quotas,
                 Watch& watch) {
  write_or_throw(dir, "job.toml", to_toml(job));
  std::optional<Summary> summary;
  try {
    summary = run_watched(dir, job, task, mode, quotas, watch);
  } catch (const RunFailed& failure) {
    watch.fail(failure.what());
    (void)write_report(dir, watch.record());  // the run's own failure is what counts
    throw;
  }
  if (Status status = write_report(dir, watch.record()); !status) {
    throw RunFailed(status.error().message);
  }
  return std::move(*summary);
}

constexpr int kDefaultPort = 8420;

// The live page, where one is wanted. Another port than the one expected will do if none was named
// and somebody is told.
Result<std::unique_ptr<Dashboard>> dashboard_for(const RunFlags& flags, const Job& job) {
  if (!flags.dashboard) {
    return nullptr;
  }
  Dashboard::Address address{flags.dashboard_host, flags.dashboard->value_or(kDefaultPort)};
  auto dashboard = Dashboard::start(address, live_page(job.name));
  if (!dashboard && !*flags.dashboard && !flags.quiet) {
    address.port = 0;
    dashboard = Dashboard::start(address, live_page(job.name));
  }
  if (!dashboard) {
    return fail("--dashboard: {}", dashboard.error().message);
  }
  return dashboard;
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
  auto dashboard = dashboard_for(flags, *job);
  if (!dashboard) {
    return refuse(dashboard.error().message);
  }
  const auto dir = RunDir::create(flags.out, job->name);
  if (!dir) {
    return refuse(dir.error().message);
  }
  if (*dashboard && !flags.quiet) {
    fmt::print(stderr, "motley: watch the run at {}\n", (*dashboard)->url());
  }
  try {
    Watch watch(*dir, facts_of(*job, mode, **task), ProgressDisplay::style_for(flags.quiet),
                std::move(*dashboard));
    const Summary summary = run_into(*dir, *job, **task, mode, quotas->get(), watch);
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
