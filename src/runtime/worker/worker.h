// Worker: a worker of a real run. It joins a coordinator, trains step by step, reports and leaves.
// A server, which holds parameters instead of training, does the same with one call in the middle.
//
//   Worker worker(admission);  // from the rendezvous (runtime/rendezvous/rendezvous.h)
//   const auto job_text = worker.join();            // what all workers train
//   worker.start(job, replica, training_samples);   // returns when all are ready; clocks start
//   while (const auto work = worker.begin()) {
//     worker.finish(replica.compute(work->samples));
//   }
//   worker.leave();
//
// Calls block and throw what Node calls throw; pass a caught exception to fail(), which tells the
// others. Thread rule: one thread makes all calls except ask_to_stop(). A separate thread sends
// heartbeats, whatever the caller is doing.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/error.h"
#include "fabric/driver.h"
#include "fabric/tcp.h"
#include "motley/job/job.h"
#include "motley/sync/task.h"
#include "runtime/rendezvous/rendezvous.h"
#include "runtime/run/control.h"
#include "runtime/worker/real_node.h"
#include "sync/loop.h"

namespace motley {

// How workers get equal models to start with.
// kAlreadyEqual: the seed determines the models, so they are equal.
// kOfRankZero: rank 0's model is broadcast at the start. At the end its buffers are broadcast
// again, because by then each worker has its own statistics.
enum class Beginning { kAlreadyEqual, kOfRankZero };

class Worker final : private FabricSink, private Observer {
 public:
  explicit Worker(const Admission& admission);
  ~Worker() override;

  // Returns the text of the job when all have joined, or an error when interrupted.
  Result<std::string> join(const Interruption& interrupted = {});

  // Returns when all workers are ready. The references must outlive the worker.
  Status start(const Job& job, Replica& replica, std::int64_t training_samples,
               Beginning beginning);
  // What to compute next, or nullopt when the run is over.
  std::optional<Work> begin();
  // Call when the step is computed: the replica holds the gradient sum; `loss_sum` is the sum of
  // losses.
  void finish(double loss_sum);
  // Reports the results; returns when all other workers are done, too.
  void leave();

  // A server's part, from start() to the end of the run.
  Status run_server(const Job& job);

  // Reports that this worker cannot go on. Returns why the run fails, as far as that is known after
  // a moment: another worker may have failed before.
  std::string fail(const std::exception_ptr& error);
  std::string fail(const FailedInfo& failure);

  // Thread-safe. Asks for an early but orderly end of the run.
  void ask_to_stop(const std::string& why);

  // After each finish(): the progress of the run and of this worker.
  const Progress& progress() const { return last_; }
  const WorkerResult& so_far() const { return so_far_; }
  // Why the run ends early, if it does: "target", "SIGINT".
  std::optional<std::string> stopped() const;

 private:
  class Heartbeat;

  void meet(const Job& job);
  Status find_clock();
  Status await_go(std::int64_t training_samples);
  void tell(Control kind, Payload payload = {});
  void tell_progress();
  void beat();
  void listen();
  Message await(Control kind);
  Result<Message> await_start(const Interruption& interrupted);
  void send_snapshot(const SnapshotNote& note);
  void note_end(const WorkerResult& result);
  void tell_done(DoneInfo done);

  void on_step(Seconds now, const Progress& progress, const WorkerResult& so_far) override;
  void on_snapshot(Seconds now, const Progress& progress, Replica& replica) override;
  void on_message(Message message) override;
  void on_peer_lost(Rank peer, const std::string& reason) override;

  const Rank rank_;
  const std::string coordinator_host_;
  Driver driver_;
  RealNode node_;
  TcpFabric fabric_;
  std::vector<Endpoint> endpoints_;
  std::atomic<bool> stop_requested_ = false;
  std::atomic<bool> coordinator_gone_ = false;
  std::atomic<std::int64_t> heard_ns_ = 0;  // when the coordinator was last heard from
  Seconds patience_ = 0;                    // with a silent coordinator
  std::atomic<bool> training_now_ = false;
  std::int64_t clock_offset_ = 0;  // of the coordinator's clock, in nanoseconds
  Seconds step_began_ = 0;
  Progress last_;
  WorkerResult so_far_;
  Replica* replica_ = nullptr;
  Beginning beginning_ = Beginning::kAlreadyEqual;
  Journal journal_;
  mutable std::mutex telling_;        // used by the training thread, the heartbeat and the sockets
  ProgressInfo progress_;             // guarded by telling_: the latest progress
  std::optional<std::string> abort_;  // guarded by telling_: why the run fails
  std::optional<std::string> stopped_;  // guarded by telling_: why it ends early
  std::unique_ptr<Training> training_;
  std::unique_ptr<Heartbeat> heartbeat_;  // last member: it uses all of the above
};

}  // namespace motley
