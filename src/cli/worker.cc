#include <spdlog/spdlog.h>

#include <cstdlib>
#include <memory>

#include "base/reason.h"
#include "cli/commands.h"
#include "compute/load.h"
#include "runtime/calibrate/link_probe.h"
#include "runtime/rendezvous/token.h"
#include "session/joined_session.h"
#include "sync/registry.h"

namespace motley {
namespace {

// What the process has loaded. If it joins again with the same job, it does not load it again.
class LoadedJob {
 public:
  explicit LoadedJob(bool quiet) : quiet_(quiet) {}

  Result<std::shared_ptr<Task>> task(const Job& job, const std::string& text) {
    if (!task_ || text != text_) {
      if (task_ && !quiet_) {
        spdlog::info("the run has another job than before: loading it");
      }
      task_.reset();  // the memory may not be enough for both
      auto task = load_task(job, Parts::kTraining);
      if (!task) {
        return task;
      }
      task_ = std::move(*task);
      text_ = text;
    }
    return task_;
  }

 private:
  const bool quiet_;
  std::shared_ptr<Task> task_;
  std::string text_;
};

void train_job(JoinedSession& session, const Job& job, LoadedJob& loaded) {
  const auto task = loaded.task(job, session.job_text());
  if (!task) {
    session.give_up(task.error().message);
    throw RunFailed(task.error().message);
  }
  const auto replica = (*task)->make_replica();
  session.train(job, *replica, (*task)->training_samples());
}

void take_part(JoinedSession& session, LoadedJob& loaded) {
  const auto job = parse_job(job_schema(), session.job_text(), "job.toml", {}, Mode::kConfig);
  if (!job) {
    session.give_up(job.error().message);
    throw RunFailed(job.error().message);
  }
  if (session.is_server()) {
    session.run_server(*job);
  } else {
    train_job(session, *job, loaded);
  }
}

Joining joining_of(const WorkerFlags& flags) {
  Joining joining{.rendezvous = flags.join, .rank = flags.rank, .token = token_of_environment()};
  joining.returns.may_return = !flags.once;
  if (!flags.quiet) {
    joining.say = [](const std::string& line) { spdlog::info("{}", line); };
  }
  return joining;
}

}  // namespace

int worker_command(const WorkerFlags& flags) {
  register_link_probes();
  LoadedJob loaded(flags.quiet);
  try {
    take_part_in_run(joining_of(flags),
                     [&](JoinedSession& session) { take_part(session, loaded); });
  } catch (const Refused& refused) {
    return refuse(fmt::format("--join {}", refused.what()));
  } catch (...) {
    if (!flags.quiet) {
      spdlog::error("the run failed: {}", plain_reason(std::current_exception()));
    }
    return kRunFailed;
  }
  return kDone;
}

}  // namespace motley
