// A worker of a real run: joins a coordinator, trains a step at a time, reports, leaves. A server,
// which holds parameters instead of training, does the same with one call in the middle.
//
//   Worker worker(admission);                        // from the rendezvous
//   (runtime/rendezvous/rendezvous.h) const auto job_text = worker.join();             // what
//   everybody trains worker.start(job, replica, training_samples);    // when all are ready, clocks
//   start while (const auto work = worker.begin()) {
//     worker.finish(replica.compute(work->samples));
//   }
//   worker.leave();
//
// Calls block, and throw what Node calls throw; whoever catches hands it to fail(), which tells the
// others. One thread makes all calls but ask_to_stop(). Signs of life are given by a thread of its
// own, whatever the caller is doing.
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

// Whether the workers' models are the same already, because a seed decides them, or become so;
// those become so once more in the end, when each has its own statistics.
enum class Beginning { kBroadcast, kOfRankZero };

class Worker final : private FabricSink, private Observer {
 public:
  explicit Worker(const Admission& admission);
  ~Worker() override;

  // The text of the job. Returns when everybody has come, or when it is interrupted.
  Result<std::string> join(const Interruption& interrupted = {});

  // Returns when everybody is ready. The references outlive the worker.
  Status start(const Job& job, Replica& replica, std::int64_t training_samples,
               Beginning beginning);
  // What to compute next; nullopt: the run is over.
  std::optional<Work> begin();
  // It is computed: the replica has the sum of the gradients, this is that of the losses.
  void finish(double loss_sum);
  // Tells what came of it; returns when all others are done, too.
  void leave();

  // A server's part, from start() to the end of the run.
  Status run_server(const Job& job);

  // It cannot go on, for this reason. Returns the reason why the run fails, as far as that is known
  // after a moment: another one may have failed before.
  std::string fail(const std::exception_ptr& error);
  std::string fail(const FailedInfo& failure);

  // Any thread: the run should end early, in order.
  void ask_to_stop(const std::string& why);

  // After each finish(): where the run stands, and this worker.
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
  std::atomic<std::int64_t> heard_ns_ = 0;  // when the coordinator last gave a sign of life
  Seconds patience_ = 0;                    // with a silent one
  std::atomic<bool> training_now_ = false;
  std::int64_t clock_offset_ = 0;  // of the coordinator's clock, in nanoseconds
  Seconds step_began_ = 0;
  Progress last_;
  WorkerResult so_far_;
  Replica* replica_ = nullptr;
  Beginning beginning_ = Beginning::kBroadcast;
  Journal journal_;
  mutable std::mutex telling_;          // training thread, heartbeat and sockets
  ProgressInfo progress_;               // guarded by it: what was last known
  std::optional<std::string> abort_;    // likewise: why the run fails
  std::optional<std::string> stopped_;  // likewise: why it ends early
  std::unique_ptr<Training> training_;
  std::unique_ptr<Heartbeat> heartbeat_;  // last: it uses all of the above
};

}  // namespace motley
