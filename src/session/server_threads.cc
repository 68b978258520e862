#include "session/server_threads.h"

#include <exception>
#include <utility>

#include "motley/sync/method.h"
#include "runtime/worker/worker.h"
#include "session/signals.h"

namespace motley {

std::optional<std::string> signal_before_start() {
  const auto signal = first_signal();
  return signal ? std::optional("stopped by " + *signal + " before all ranks had joined")
                : std::nullopt;
}

ServerThreads::ServerThreads(const Job& job, Rank worker,
                             std::function<Result<Admission>(Rank)> let_in)
    : let_in_(std::move(let_in)) {
  for (int server = worker; server < servers_of(job); server += job.cluster.workers) {
    threads_.emplace_back([this, &job, server] { run_server(job, job.cluster.workers + server); });
  }
}

void ServerThreads::join() {
  for (std::thread& thread : std::exchange(threads_, {})) {
    thread.join();
  }
}

// Errors are not reported here: the coordinator either knows of them or misses the server. If a
// server is refused, so is the worker of this process, for the same reason.
void ServerThreads::run_server(const Job& job, Rank rank) {
  const auto admission = let_in_(rank);
  if (!admission) {
    return;
  }
  Worker worker(*admission);
  begin_to_serve(worker);
  try {
    const auto text = worker.join(signal_before_start);
    const Status status = text ? worker.run_server(job) : tl::unexpected(text.error());
    if (!status) {
      worker.fail({kAnyRank, status.error().message});
    }
  } catch (...) {
    worker.fail(std::current_exception());
  }
  end_to_serve(worker);
}

void ServerThreads::drop_out() {
  std::lock_guard lock(mutex_);
  drops_out_ = true;
  for (Worker* const server : serving_) {
    server->drop_out();
  }
}

void ServerThreads::begin_to_serve(Worker& server) {
  std::lock_guard lock(mutex_);
  serving_.insert(&server);
  if (drops_out_) {
    server.drop_out();
  }
}

void ServerThreads::end_to_serve(Worker& server) {
  std::lock_guard lock(mutex_);
  serving_.erase(&server);
}

}  // namespace motley
