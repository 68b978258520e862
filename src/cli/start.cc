#include "cli/start.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

#include "runtime/simulate/simulate.h"

namespace motley {
namespace {

constexpr std::size_t kMostWorkers = 65536;  // a job may have

// The simulation would begin: the state fits.
struct HasBegun {};

class TrialMonitor final : public RunMonitor {
 public:
  void on_begin(const std::function<Activity(int)>&) override { throw HasBegun{}; }
  void on_progress(const RunProgress&) override {}
  void on_metric(const Metric&) override {}
  std::optional<std::string> stop_requested() override { return std::nullopt; }
  bool abandon_requested() override { return false; }
};

// How many workers the flags ask for.
std::optional<std::size_t> workers_in(const std::vector<std::string>& overrides) {
  constexpr std::string_view kKey = "cluster.workers=";
  std::optional<std::size_t> workers;
  for (const std::string& each : overrides) {
    std::size_t number = 0;
    const char* const end = each.data() + each.size();
    if (each.starts_with(kKey) &&
        std::from_chars(each.data() + kKey.size(), end, number).ptr == end) {
      workers = number;
    }
  }
  return workers;
}

// A resolved job has a speed for every worker. With other workers, those who stay keep theirs and
// newcomers have 1, unless the flags say otherwise.
std::optional<std::string> speeds_for(const Job& before, const JobFlags& flags) {
  const auto workers = workers_in(flags.overrides);
  std::vector<double> speeds = before.cluster.speeds;
  if (!workers || *workers == speeds.size() || *workers < 1 || *workers > kMostWorkers) {
    return std::nullopt;
  }
  speeds.resize(*workers, 1.0);
  return fmt::format("cluster.speeds=[{}]", fmt::join(speeds, ", "));
}

// The job in the checkpoint, with the overrides of the flags.
Result<Job> job_in(const ResumePoint& point, const JobFlags& flags, Mode mode) {
  JobFlags saved = flags;
  saved.path = fmt::format("the job in {}", (point.path / kManifestFile).string());
  saved.variant.reset();
  const auto before = parse_text(point.job(), {saved.path, {}, {}}, Mode::kConfig);
  if (const auto speeds = before ? speeds_for(*before, flags) : std::nullopt) {
    saved.overrides.insert(saved.overrides.begin(), *speeds);
  }
  return parse_text(point.job(), saved, mode);
}

Result<Start> resumed_start(const RunFlags& flags, Mode mode) {
  const bool has_job = !flags.job.path.empty();
  auto job = has_job ? load_job(flags.job, mode) : Job{};
  ResumeWish wish{.mode = name_of(mode)};
  if (has_job && job) {
    wish.name = job->name;
  }
  auto point = job ? find_resume_point(*flags.resume, wish) : tl::unexpected(job.error());
  if (!point) {
    return job ? fail("--resume: {}", point.error().message) : tl::unexpected(point.error());
  }
  if (!has_job) {
    job = job_in(*point, flags.job, mode);
  }
  if (!job) {
    return tl::unexpected(job.error());
  }
  if (const Status status = check_job(*point, *job); !status) {
    return fail("--resume: {}", status.error().message);
  }
  return Start{std::move(*job), std::make_shared<const ResumePoint>(std::move(*point))};
}

}  // namespace

const char* name_of(Mode mode) { return mode == Mode::kTrain ? "train" : "simulate"; }

Result<Start> start_of(const RunFlags& flags, Mode mode) {
  if (flags.resume) {
    return resumed_start(flags, mode);
  }
  if (flags.job.path.empty()) {
    return fail("{}: JOB is required (see motley {} --help)", name_of(mode), name_of(mode));
  }
  return load_job(flags.job, mode).map([](Job&& job) { return Start{std::move(job), nullptr}; });
}

Status check_simulation(const Start& start, Task& task) {
  if (!start.from) {
    return {};
  }
  TrialMonitor monitor;
  try {
    simulate(start.job, task, monitor, &start.from->state());
  } catch (const HasBegun&) {
    return {};
  } catch (const StateError& error) {
    return fail("--resume {}: {}", start.from->path.string(), error.what());
  }
  return {};
}

}  // namespace motley
