#include <spdlog/spdlog.h>

#include <cstdlib>
#include <memory>

#include "cli/commands.h"
#include "compute/load.h"
#include "runtime/calibrate/link_probe.h"
#include "runtime/rendezvous/token.h"
#include "session/joined_session.h"
#include "sync/registry.h"

namespace motley {
namespace {

void train_job(JoinedSession& session, const Job& job) {
  const auto task = load_task(job, Parts::kTraining);
  if (!task) {
    session.give_up(task.error().message);
    throw RunFailed(task.error().message);
  }
  const auto replica = (*task)->make_replica();
  session.train(job, *replica, (*task)->training_samples());
}

void take_part(JoinedSession& session) {
  const auto job = parse_job(job_schema(), session.job_text(), "job.toml", {}, Mode::kConfig);
  if (!job) {
    session.give_up(job.error().message);
    throw RunFailed(job.error().message);
  }
  if (session.rank() >= job->cluster.workers) {
    session.run_server(*job);
  } else {
    train_job(session, *job);
  }
}

}  // namespace

int worker_command(const WorkerFlags& flags) {
  register_link_probes();
  try {
    JoinedSession session(flags.join, flags.rank, token_of_environment());
    take_part(session);
  } catch (const Refused& refused) {
    return refuse(fmt::format("--join {}", refused.what()));
  } catch (const std::exception& error) {
    if (!flags.quiet) {
      spdlog::error("the run failed: {}", error.what());
    }
    return kRunFailed;
  }
  return kDone;
}

}  // namespace motley
