#include "session/joined_session.h"

#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <optional>

#include "base/reason.h"
#include "runtime/rendezvous/addresses.h"
#include "runtime/rendezvous/rendezvous.h"
#include "runtime/worker/worker.h"
#include "session/run_impl.h"
#include "session/termination_watch.h"

namespace motley {
namespace {

Endpoint rendezvous_at(const std::string& text) {
  const auto endpoint = parse_endpoint(text);
  if (!endpoint) {
    throw Refused(endpoint.error().message);
  }
  return endpoint->port != 0 ? *endpoint
                             : throw Refused(text + ": expected a port from 1 to 65535");
}

}  // namespace

JoinedSession::JoinedSession(const Joining& joining) {
  Peer me = peer_of_this_process();
  me.rank = joining.rank < 0 ? std::nullopt : std::optional<Rank>(joining.rank);
  me.token = joining.token;
  const auto admission = join_rendezvous(rendezvous_at(joining.rendezvous), me, joining.patience);
  if (!admission) {
    throw RunFailed(admission.error().message);
  }
  session_.world.rank = admission->rank;
  worker_ = std::make_unique<Worker>(*admission);
}

JoinedSession::~JoinedSession() = default;

void JoinedSession::join() {
  try {
    const auto job = worker_->join();
    job_text_ = job ? *job : throw RunFailed(job.error().message);
  } catch (...) {
    throw RunFailed(worker_->fail(std::current_exception()));
  }
}

bool JoinedSession::is_server() const { return worker_->is_server(); }

void JoinedSession::train(const Job& job, Replica& replica, std::int64_t training_samples) {
  answers_ = true;
  is_elastic_ = job.cluster.elastic;
  const TerminationWatch watch([&] {
    if (job.cluster.elastic) {
      worker_->ask_to_leave();
    } else {
      worker_->ask_to_stop("SIGTERM");
    }
  });
  Run::Impl run(session_, *worker_, job, replica, training_samples);
  run.fit([&](const Work& work) { return replica.compute(work.samples); });
}

void JoinedSession::run_server(const Job& job) {
  answers_ = true;
  const TerminationWatch watch([] {});
  try {
    if (const Status status = worker_->run_server(job); !status) {
      throw RunFailed(status.error().message);
    }
  } catch (...) {
    throw RunFailed(worker_->fail(std::current_exception()));
  }
}

std::optional<std::string> JoinedSession::remark() const {
  const WorkerEnd end = worker_->end();
  if (!end.let_go || end.run_is_over) {
    return std::nullopt;
  }
  return end.took_part || end.asked_to_leave
             ? "left the run, which goes on"
             : "the run was over before this process could take part in it";
}

SessionEnd JoinedSession::end() const {
  const WorkerEnd end = worker_->end();
  return {.let_go = end.let_go,
          .told_why = end.told_why,
          .failed_here = end.failed,
          .lost = end.lost,
          .asked_to_leave = end.asked_to_leave,
          .trained = end.trained};
}

void JoinedSession::give_up(const std::string& why) {
  answers_ = true;
  worker_->fail({kAnyRank, why});
}

void JoinedSession::give_up_unless_told(const std::exception_ptr& error) {
  if (!answers_) {
    give_up(plain_reason(error));
  }
}

void take_part_in_run(const Joining& joining, const std::function<void(JoinedSession&)>& body) {
  using Clock = std::chrono::steady_clock;
  const auto say = [&](const std::string& line) {
    if (joining.say) {
      joining.say(line);
    }
  };
  std::optional<Clock::time_point> trained;  // the end of the last session in which it has
  while (true) {
    JoinedSession session(joining);
    try {
      session.join();
      try {
        body(session);
      } catch (...) {
        session.give_up_unless_told(std::current_exception());
        throw;
      }
      if (const auto remark = session.remark()) {
        say(*remark);
      }
      return;
    } catch (const RunFailed& failed) {
      const SessionEnd end = session.end();
      const auto now = Clock::now();
      trained = end.trained ? now : trained;
      const auto idle = trained
                            ? std::optional(std::chrono::duration<double>(now - *trained).count())
                            : std::nullopt;
      ReturnRules rules = joining.returns;
      rules.may_return = rules.may_return && session.is_elastic();
      if (after_session(end, rules, idle) != AfterSession::kJoinsAgain) {
        throw;
      }
      say(fmt::format("lost the run: {}; joining again", failed.what()));
    }
  }
}

}  // namespace motley
