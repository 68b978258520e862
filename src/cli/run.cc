// `motley train` and `motley simulate`: run one job and write its run directory.
#include "runtime/run/run.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/gather.h"
#include "cli/show.h"
#include "cli/start.h"
#include "cluster/quotas.h"
#include "compute/load.h"
#include "page/page.h"
#include "runtime/simulate/simulate.h"
#include "session/recorded_run.h"
#include "session/run_address.h"
#include "session/signals.h"
#include "sync/check_dealing.h"

namespace motley {
namespace {

// Fails if the kernel cannot enforce some worker's speed, at the start or after an event.
Status check_quotas(const ClusterSpec& cluster) {
  std::vector<Seconds> moments{0};
  std::ranges::transform(cluster.events, std::back_inserter(moments), &ClusterEvent::at);
  for (const Seconds moment : moments) {
    const auto quotas = quotas_at(cluster, moment, cores_here());
    const auto least = std::ranges::min_element(quotas);
    if (*least < CpuQuotas::kLeastCores) {
      return fail(
          "worker {} would be limited to {:.2g} of a core at {:g} s, below the kernel's minimum of "
          "{:g}: raise its speed in cluster.{}",
          least - quotas.begin(), *least, moment, CpuQuotas::kLeastCores,
          moment > 0 ? "event" : "speeds");
    }
  }
  return {};
}

// The quotas of the job; nullptr if it uses none.
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

constexpr int kDefaultPort = 8420;

// The live page, if the flags ask for one. If they name no port and the default one is in use, any
// free port is taken, unless nothing may be printed.
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

// In a simulation all workers are in this process, and samples cost no virtual time.
Job as_computed(Job job, Mode mode) {
  if (mode == Mode::kSimulate) {
    job.train.loader.workers = 0;
  }
  return job;
}

// What a run needs besides its flags, when nothing in them is wrong.
struct Prepared {
  Start start;
  std::shared_ptr<Task> task;
  Gathering gathering;
  std::unique_ptr<Dashboard> dashboard;
};

// Everything that can be refused is refused before the directory is opened.
// Returns why the run ended early, if it did.
std::optional<std::string> run_prepared(const RunFlags& flags, Mode mode, Prepared prepared) {
  const Job& job = prepared.start.job;
  Task& task = *prepared.task;
  const std::shared_ptr<const State> state = state_in(prepared.start.from);
  RecordedRun recorded(job, name_of(mode), task.training_samples(),
                       {.out = flags.out,
                        .trace = !flags.no_trace,
                        .quiet = flags.quiet,
                        .dashboard = std::move(prepared.dashboard),
                        .from = prepared.start.from});
  std::optional<Coordinator> coordinator;
  if (mode == Mode::kTrain) {
    prepared.gathering.resume = state;
    coordinator.emplace(job, task, recorded.monitor(), std::move(prepared.gathering));
  }
  recorded.open();
  if (prepared.start.from) {
    say_where(*prepared.start.from, flags.quiet);
  }
  const Summary summary = recorded.run(task, [&](RunMonitor& monitor) {
    if (!coordinator) {
      return simulate(job, task, monitor, state.get());
    }
    const AddressFile address(recorded.dir(), address_of(*coordinator));
    invite(flags.listen, job, *coordinator);
    return coordinator->run();
  });
  if (flags.json) {
    fmt::print("{}\n", to_json(summary).dump(2));
  } else {
    show(summary, recorded.dir()->path());
  }
  return summary.stopped;
}

}  // namespace

int run_command(const RunFlags& flags, Mode mode) {
  catch_signals();
  auto start = start_of(flags, mode);
  if (!start) {
    return refuse(start.error().message);
  }
  const Job& job = start->job;
  auto task = load_task(as_computed(job, mode), Parts::kBoth);
  if (!task) {
    return refuse(task.error().message);
  }
  if (const Status fits = check_dealing(job, (*task)->training_samples()); !fits) {
    return refuse(fits.error().message);
  }
  if (const auto signal = first_signal()) {
    return exit_code_of(*signal);  // the signal came while loading: there is nothing to save yet
  }
  const auto quotas = quotas_for_job(job, mode);
  if (!quotas) {
    return refuse(quotas.error().message);
  }
  auto gathering = gathering_for(flags.listen, job);
  if (!gathering) {
    return refuse(gathering.error().message);
  }
  gathering->quotas = quotas->get();
  if (const Status fits = mode == Mode::kSimulate ? check_simulation(*start, **task) : Status{};
      !fits) {
    return refuse(fits.error().message);
  }
  auto dashboard = dashboard_for(flags, job);
  if (!dashboard) {
    return refuse(dashboard.error().message);
  }
  std::optional<std::string> stopped;
  try {
    stopped = run_prepared(
        flags, mode,
        {std::move(*start), std::move(*task), std::move(*gathering), std::move(*dashboard)});
  } catch (const Refused& refused) {
    return refuse(refused.what());
  } catch (const StateError& error) {
    return refuse(fmt::format("--resume: {}", error.what()));
  } catch (const RunFailed& failure) {
    spdlog::error("the run failed: {}", failure.what());
    const auto signal = first_signal();
    return signal ? exit_code_of(*signal) : kRunFailed;
  }
  // A worker that was told to leave a run that is not elastic has stopped it.
  const auto signal = stopped && is_signal(*stopped) ? stopped : first_signal();
  return signal ? exit_code_of(*signal) : kDone;
}

}  // namespace motley
