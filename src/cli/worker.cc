#include "runtime/worker.h"

#include <spdlog/spdlog.h>

#include <charconv>
#include <cstdlib>

#include "cli/commands.h"
#include "compute/load.h"
#include "runtime/calibration.h"
#include "runtime/coordinator.h"

namespace motley {
namespace {

Result<Endpoint> parse_endpoint(const std::string& text) {
  const auto colon = text.rfind(':');
  Endpoint endpoint;
  endpoint.host = text.substr(0, colon);
  const char* end = text.data() + text.size();
  if (colon != std::string::npos) {
    const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, endpoint.port);
    if (error == std::errc() && rest == end) {
      return endpoint;
    }
  }
  return fail("--join {}: expected HOST:PORT", text);
}

// Whoever started this worker has checked the job. `train` refuses phantom models, so one that
// comes is a probe of `calibrate`: there its numbers travel.
Result<LoadedJob> load(const std::string& text, Rank rank) {
  auto job = parse_job(text, "job.toml", {}, Mode::kConfig);
  if (!job) {
    return tl::unexpected(job.error());
  }
  if (rank >= job->cluster.workers) {
    return LoadedJob{std::move(*job), nullptr};
  }
  if (job->phantom()) {
    auto probe = std::make_shared<StillTask>(job->data.samples, job->model.parameters);
    return LoadedJob{std::move(*job), std::move(probe)};
  }
  auto task = load_task(*job, Parts::kTraining);
  if (!task) {
    return tl::unexpected(task.error());
  }
  return LoadedJob{std::move(*job), std::move(*task)};
}

}  // namespace

int worker_command(const WorkerFlags& flags) {
  const auto door = parse_endpoint(flags.join);
  if (!door) {
    return refuse(door.error().message);
  }
  const char* token = std::getenv(kTokenVariable);
  if (token == nullptr) {
    return refuse(
        fmt::format("{} is not set: workers are started by `motley train`", kTokenVariable));
  }
  const Status status = run_worker({flags.rank, *door, token}, load);
  return status ? kDone : kRunFailed;
}

}  // namespace motley
