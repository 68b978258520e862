// calibrate: measures the links between workers, on this machine or on those that join, as keys of
// [cluster] for the simulator.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/gather.h"
#include "job/edit.h"
#include "job/print.h"
#include "record/whole_file.h"
#include "runtime/calibrate/link_probe.h"
#include "runtime/calibrate/measured_links.h"
#include "session/signals.h"
#include "sync/registry.h"

namespace motley {
namespace {

// The job that is calibrated for if none is given.
constexpr const char* kUsualJob = "[cluster]\nworkers = 4\n";

// The first signal ends the probe.
class ProbeMonitor final : public RunMonitor {
 public:
  void on_progress(const RunProgress&) override {}
  void on_metric(const Metric&) override {}
  std::optional<std::string> stop_requested() override { return std::nullopt; }
  bool abandon_requested() override { return first_signal().has_value(); }
};

// The job that is calibrated for.
struct Purpose {
  std::string text;  // contents of the job file
  Job job;
};

Status check_writing(const CalibrateFlags& flags) {
  if (flags.write && !std::filesystem::is_regular_file(flags.job.path)) {
    return fail("--write: {} is not a regular file", flags.job.path);
  }
  if (flags.write && flags.job.variant) {
    return fail(
        "--write cannot be used with --variant: the variant's own settings would override it");
  }
  return {};
}

Status check_workers(int workers, bool join) {
  constexpr int kMost = 64;  // any two machines are measured
  if (workers < 2) {
    return fail("a single worker has no links: set cluster.workers to 2 or more");
  }
  if (workers > kMost) {
    return fail("{} workers {}; --set cluster.workers={} or fewer", workers,
                join ? "are more than can be measured"
                     : fmt::format("would need {} processes on this machine", workers),
                kMost);
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
  Status status = check_workers(job->cluster.workers, flags.listen.listen.has_value());
  status = status ? check_writing(flags) : status;
  if (!status) {
    return tl::unexpected(status.error());
  }
  job->cluster.isolate = Isolation::kNone;  // how fast workers compute does not matter
  job->cluster.events.clear();              // nor what would happen to them
  job->cluster.churn.reset();
  return Purpose{*text, std::move(*job)};
}

Result<MeasuredLinks> measure(const CalibrateFlags& flags, const Job& probe, Gathering gathering) {
  PhantomTask task(probe.data.samples, probe.model.parameters);
  ProbeMonitor monitor;
  Coordinator coordinator(probe, task, monitor, std::move(gathering));
  invite(flags.listen, probe, coordinator);
  return links_of(coordinator.run().service.figures);
}

Status write_into(const std::string& path, const std::string& text,
                  const std::vector<Setting>& settings) {
  const auto edited = with_settings(text, path, "cluster", settings);
  return edited ? replace_file(path, *edited) : Status(tl::unexpected(edited.error()));
}

// Numbers and lists of TOML are those of JSON.
void print_json(const std::vector<Setting>& settings) {
  nlohmann::ordered_json values;
  for (const Setting& setting : settings) {
    values[setting.key] = nlohmann::ordered_json::parse(setting.value);
  }
  fmt::print("{}\n", values.dump(2));
}

void print_toml(const std::vector<Setting>& settings, const MeasuredLinks& links, int workers) {
  const int machines = links.machine_count();
  fmt::print("[cluster]\n# motley calibrate: {} workers{} on {}\n", workers,
             std::ssize(links.machines) > workers ? " and a server" : "",
             machines == 1 ? "one machine" : fmt::format("{} machines", machines));
  for (const Setting& setting : settings) {
    fmt::print("{} = {}\n", setting.key, setting.value);
  }
}

int report(const CalibrateFlags& flags, const Purpose& purpose, const MeasuredLinks& links) {
  const int workers = purpose.job.cluster.workers;
  const auto settings = settings_of(links, purpose.job.cluster, servers_of(purpose.job));
  if (flags.write) {
    if (const Status status = write_into(flags.job.path, purpose.text, settings); !status) {
      return refuse(status.error().message);
    }
  }
  if (flags.json) {
    print_json(settings);
  } else {
    print_toml(settings, links, workers);
  }
  return kDone;
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
  auto gathering = gathering_for(flags.listen, purpose->job);
  if (!gathering) {
    return refuse(gathering.error().message);
  }
  register_link_probes();
  const Job probe = link_probe_for(purpose->job);
  gathering->job_text = to_toml(job_schema(), probe);
  try {
    const auto links = measure(flags, probe, std::move(*gathering));
    if (links) {
      return report(flags, *purpose, *links);
    }
    spdlog::error("{}", links.error().message);
  } catch (const RunFailed& failure) {
    if (const auto signal = first_signal()) {
      return exit_code_of(*signal);
    }
    spdlog::error("the measurement failed: {}", failure.what());
  }
  return kRunFailed;
}

}  // namespace motley
