#include "session/joined_session.h"

#include <exception>
#include <optional>

#include "runtime/rendezvous/addresses.h"
#include "runtime/rendezvous/rendezvous.h"
#include "runtime/worker/worker.h"
#include "session/run_impl.h"

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

JoinedSession::JoinedSession(const std::string& rendezvous, int rank, const std::string& token) {
  Peer me = peer_of_this_process();
  me.rank = rank < 0 ? std::nullopt : std::optional<Rank>(rank);
  me.token = token;
  const auto admission = join_rendezvous(rendezvous_at(rendezvous), me, session_.patience);
  if (!admission) {
    throw RunFailed(admission.error().message);
  }
  session_.world.rank = admission->rank;
  worker_ = std::make_unique<Worker>(*admission);
  try {
    const auto job = worker_->join();
    job_text_ = job ? *job : throw RunFailed(job.error().message);
  } catch (...) {
    throw RunFailed(worker_->fail(std::current_exception()));
  }
}

JoinedSession::~JoinedSession() = default;

void JoinedSession::train(const Job& job, Replica& replica, std::int64_t training_samples) {
  Run::Impl run(session_, *worker_, job, replica, training_samples);
  run.fit([&](const Work& work) { return replica.compute(work.samples); });
}

void JoinedSession::run_server(const Job& job) {
  try {
    if (const Status status = worker_->run_server(job); !status) {
      throw RunFailed(status.error().message);
    }
  } catch (...) {
    throw RunFailed(worker_->fail(std::current_exception()));
  }
}

void JoinedSession::give_up(const std::string& why) { worker_->fail({kAnyRank, why}); }

}  // namespace motley
