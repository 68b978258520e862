// calibrate: measures the latency and bandwidth with which the simulator is as fast as this
// machine.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "compute/load.h"
#include "job/edit.h"
#include "job/print.h"
#include "record/whole_file.h"
#include "runtime/coordinator/coordinator.h"
#include "runtime/simulate/calibration.h"
#include "session/signals.h"
#include "sync/registry.h"

namespace motley {
namespace {

// The job that is calibrated for if none is given.
constexpr const char* kUsualJob = "[cluster]\nworkers = 4\n";
constexpr std::int64_t kUsualParameters = 1'000'000;

// The first signal ends a probe.
class ProbeMonitor final : public CourseMonitor {
 public:
  bool abandon_requested() override { return first_signal().has_value(); }
};

Course run_with_processes(const Job& probe) {
  StillTask task(probe.data.samples, 0);  // only the workers need the model
  ProbeMonitor monitor;
  return monitor.course(train_with_processes(
      probe, task, monitor,
      {{"/proc/self/exe", "worker", "--quiet"}, to_toml(job_schema(), probe)}));
}

Result<std::int64_t> parameters_of(const Job& job) {
  if (job.phantom()) {
    return job.model.parameters;
  }
  const auto task = load_task(job, Parts::kTraining);
  if (!task) {
    return tl::unexpected(task.error());
  }
  return static_cast<std::int64_t>((*task)->make_replica()->parameters().size);
}

// The job that is calibrated for, and the size of its model.
struct Purpose {
  std::string text;  // contents of the job file
  Job job;
  std::int64_t parameters = kUsualParameters;
};

// Only one bandwidth for all workers is measured, and it is written to the job's own [cluster].
Status check_writing(const CalibrateFlags& flags, const Job& job) {
  if (!flags.write) {
    return {};
  }
  if (!std::filesystem::is_regular_file(flags.job.path)) {
    return fail("--write: {} is not a regular file", flags.job.path);
  }
  if (flags.job.variant) {
    return fail(
        "--write cannot be used with --variant: the variant's own settings would override it");
  }
  if (std::ranges::adjacent_find(job.cluster.bandwidth, std::ranges::not_equal_to{}) !=
      job.cluster.bandwidth.end()) {
    return fail(
        "--write: {} has one bandwidth per worker, but only one for all workers is measured",
        flags.job.path);
  }
  return {};
}

Status check_workers(int workers) {
  constexpr int kMost = 64;  // each is a process on this machine
  if (workers < 2) {
    return fail("a single worker has no links: set cluster.workers to 2 or more");
  }
  if (workers > kMost) {
    return fail(
        "{} workers would need {} processes on this machine; --set cluster.workers={} or fewer",
        workers, workers, kMost);
  }
  return {};
}

Result<Purpose> purpose_of(const CalibrateFlags& flags) {
  const bool has_job = !flags.job.path.empty();
  const auto text = has_job ? read_job_file(flags.job.path) : Result<std::string>(kUsualJob);
  if (!text) {
    return tl::unexpected(text.error());
  }
  auto job = parse_text(*text, flags.job, Mode::kConfig);
  if (!job) {
    return tl::unexpected(job.error());
  }
  Status status = check_workers(job->cluster.workers);
  status = status ? check_writing(flags, *job) : status;
  if (!status) {
    return tl::unexpected(status.error());
  }
  Purpose purpose{*text, std::move(*job)};
  if (has_job) {
    const auto parameters = parameters_of(purpose.job);
    if (!parameters) {
      return tl::unexpected(parameters.error());
    }
    purpose.parameters = *parameters;
  }
  return purpose;
}

// The result as keys of [cluster].
std::vector<Setting> settings_of(const Links& links, const Job& job) {
  std::vector<Setting> settings = {{"latency", fmt::format("{:.3g}", links.latency)},
                                   {"bandwidth", fmt::format("{:.4g}", links.bandwidth)}};
  const std::string bandwidth = settings.back().value;
  const auto add_if = [&](bool is_given, const char* key) {
    if (is_given) {
      settings.push_back({key, bandwidth});
    }
  };
  // Else these would still take the place of what was measured.
  add_if(job.cluster.server_bandwidth.has_value(), "server_bandwidth");
  add_if(!job.cluster.bandwidth_up.empty(), "bandwidth_up");
  add_if(!job.cluster.bandwidth_down.empty(), "bandwidth_down");
  return settings;
}

Status write_into(const std::string& path, const std::string& text,
                  const std::vector<Setting>& settings) {
  const auto edited = with_settings(text, path, "cluster", settings);
  return edited ? replace_file(path, *edited) : Status(tl::unexpected(edited.error()));
}

void print(const Calibration& found, const std::vector<Setting>& settings, bool json) {
  if (json) {
    const nlohmann::ordered_json links = {{"latency", found.links.latency},
                                          {"bandwidth", found.links.bandwidth}};
    fmt::print("{}\n", links.dump(2));
    return;
  }
  fmt::print("[cluster]\n# motley calibrate: {}\n", found.how);
  for (const Setting& setting : settings) {
    fmt::print("{} = {}\n", setting.key, setting.value);
  }
}

}  // namespace

int calibrate_command(const CalibrateFlags& flags) {
  catch_signals();
  if (flags.write && flags.job.path.empty()) {
    return refuse("--write needs a job file");
  }
  const auto purpose = purpose_of(flags);
  if (!purpose) {
    return refuse(purpose.error().message);
  }
  const auto interrupted = [] { return first_signal().has_value(); };
  try {
    const auto found = calibrate(purpose->job, purpose->parameters, run_with_processes);
    if (interrupted()) {
      return exit_code_of(*first_signal());  // the measurements were cut short
    }
    if (!found) {
      spdlog::error("{}", found.error().message);
      return kRunFailed;
    }
    const auto settings = settings_of(found->links, purpose->job);
    if (flags.write) {
      if (const Status status = write_into(flags.job.path, purpose->text, settings); !status) {
        return refuse(status.error().message);
      }
    }
    print(*found, settings, flags.json);
  } catch (const RunFailed& failure) {
    if (interrupted()) {
      return exit_code_of(*first_signal());
    }
    spdlog::error("the measurement failed: {}", failure.what());
    return kRunFailed;
  }
  return kDone;
}

}  // namespace motley
