// Worker: a process of a real run. It joins a coordinator, takes part in one term after the other,
// reports and leaves. A worker trains step by step; a server, which holds parameters instead of
// training, does the same with one call in the middle.
//
//   Worker worker(admission);  // from the rendezvous (runtime/rendezvous/rendezvous.h)
//   const auto job_text = worker.join();            // what all workers train
//   worker.start(job, replica, training_samples);   // data and model are loaded
//   while (const auto work = worker.begin()) {
//     worker.finish({.loss_sum = replica.compute(work->samples)});
//   }
//   worker.leave();
//
// A run is a sequence of terms. Where one ends and another begins, begin() does what the
// coordinator asks and goes on; the caller does not see it. If another member of the term is lost,
// the step under way may be cut off: finish() then returns without having applied it, and begin()
// returns what the next term wants to be computed.
//
// Calls block and throw what Node calls throw; pass a caught exception to fail(), which tells the
// others. Thread rule: one thread makes all calls except ask_to_stop(), ask_to_leave() and
// drop_out(). A separate thread sends heartbeats, whatever the caller is doing.
//
//   worker.cc         joining, steps, leaving, failing
//   worker_terms.cc   what happens between two terms
//   worker_talk.cc    messages that come and go on other threads
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/memory_reserve.h"
#include "fabric/driver.h"
#include "fabric/tcp.h"
#include "motley/job/job.h"
#include "motley/state/kept_state.h"
#include "motley/sync/task.h"
#include "runtime/rendezvous/rendezvous.h"
#include "runtime/run/control.h"
#include "runtime/run/state_sender.h"
#include "runtime/run/state_stream.h"
#include "runtime/worker/hearing.h"
#include "runtime/worker/heartbeat.h"
#include "runtime/worker/real_node.h"
#include "state/state.h"
#include "sync/loop.h"

namespace motley {

// How workers get equal models to start with.
// kAlreadyEqual: the seed determines the models, so they are equal.
// kOfRankZero: rank 0's model and its Replica::common_state() are broadcast at the start, and at
// the end again, because by then each worker may have statistics and momenta of its own.
enum class Beginning { kAlreadyEqual, kOfRankZero };

// How a worker's part in a run has ended, as far as it knows.
struct WorkerEnd {
  bool let_go = false;          // the coordinator has told it to leave
  bool run_is_over = false;     // for all
  bool took_part = false;       // in a term
  bool told_why = false;        // the coordinator has said why the run fails, or refuses it
  bool failed = false;          // it has reported a failure of its own
  bool lost = false;            // without a word it has lost the coordinator
  bool asked_to_leave = false;  // itself
  bool trained = false;         // it has finished a step
};

class Worker final : private FabricSink, private Observer {
 public:
  explicit Worker(const Admission& admission);
  ~Worker() override;

  // Returns the text of the job once the coordinator has sent it, or an error when interrupted.
  Result<std::string> join(const Interruption& interrupted = {});
  // Call after join(): whether this process is to run_server() instead of training.
  bool is_server() const { return is_server_; }

  // Returns when the coordinator knows that this worker is ready, or if the run was over before.
  // The references must outlive the worker.
  Status start(const Job& job, Replica& replica, std::int64_t training_samples,
               Beginning beginning);
  // What to compute next, or nullopt when the run is over for this worker. If a state of a run is
  // restored, throws StateError if it does not fit.
  std::optional<Work> begin();
  // Call when the step is computed: the replica holds the gradient sum. Returns whether the step
  // counts for this worker: false if the term was cut off before its gradient was in the model.
  bool finish(const StepResult& result);
  // Call when begin() has said that the run is over.
  void leave();

  // A server's part, from start() to the end of the run.
  Status run_server(const Job& job);

  // Reports that this worker cannot go on. Returns why the run fails, as far as that is known after
  // a moment: another worker may have failed before.
  std::string fail(const std::exception_ptr& error);
  std::string fail(const FailedInfo& failure);
  // Thread-safe. Call first when anything was thrown: there may be no memory left to report it.
  void release_memory() { reserve_.release(); }

  // Thread-safe. Asks for an early but orderly end of the run: from its next step on, this worker
  // votes for it, or wants no more samples.
  void ask_to_stop(const std::string& why);
  // Thread-safe. Asks to leave the run in order; the others go on. begin() says when.
  void ask_to_leave();
  // Thread-safe. For a server, which cannot leave in order: its calls throw Interrupted, and the
  // others take it for lost.
  void drop_out();
  // Call when begin() has said that the run is over, or after a failure.
  WorkerEnd end() const;

  // After each finish(): the progress of the run and of this worker.
  const Progress& progress() const { return last_; }
  const WorkerResult& so_far() const { return so_far_; }
  // Results of evaluations that the coordinator has announced, in their order. All members of a
  // term hear of the same ones, but not at the same time (StepResult::has_heard).
  bool has_evaluation() const;
  std::optional<EvaluatedInfo> next_evaluation();
  // At their own pace: StepResult::counts of all workers, over the whole run, as last told.
  std::vector<double> counts() const;
  // Why the run ends early, if it does: "target", "SIGINT".
  std::optional<std::string> stopped() const;

 private:
  Result<Message> await_start(const Interruption& interrupted);
  Status get_ready(const Job& job, std::int64_t training_samples);
  Status find_clock();
  void rethrow_unless_cut_off() const;
  void note_end(const WorkerResult& result);
  std::string report(const FailedInfo& failure);
  std::optional<std::string> verdict() const;
  void close();

  // worker_terms.cc
  bool await_term();
  bool obey(const Message& message);
  bool begin(const BeginInfo& info);
  bool take(NextTermInfo next);
  void prepare(NextTermInfo next);
  Endpoint endpoint_of(const MemberInfo& member) const;
  void meet(const NextTermInfo& next);
  void try_to_reach(const ReachInfo& request);
  void begin_node_term();
  void take_state(const Message& chunk);
  void install(State state);
  void tell_prepared();
  void take_from_rank_zero();
  void begin_training();
  void settle(const CutOffInfo& cut);
  void answer(const CollectInfo& request);
  void send_state(std::int64_t number, State state);
  void tell_end_of_term();
  void end_run();

  // worker_talk.cc
  void tell(Control kind, Payload payload = {});
  void tell_progress();
  void tell_lost(Rank process, const std::string& why);
  void beat();
  void give_up(const std::exception_ptr& error);
  void listen();
  void send_snapshot(const SnapshotNote& note);
  bool handle(const Message& message);
  void on_step(Seconds now, const Progress& progress, const WorkerResult& so_far) override;
  void on_snapshot(Seconds now, const Progress& progress, Replica& replica) override;
  void on_message(Message message) override;
  void on_peer_lost(Rank peer, const std::string& reason) override;

  MemoryReserve reserve_;
  const Rank process_;
  const std::string coordinator_host_;
  Driver driver_;
  RealNode node_;
  TcpFabric fabric_;
  bool is_server_ = false;
  std::atomic<bool> stop_requested_ = false;
  std::atomic<bool> coordinator_gone_ = false;
  Hearing hearing_;       // of the coordinator
  Seconds patience_ = 0;  // with a silent coordinator
  std::atomic<bool> training_now_ = false;
  std::int64_t clock_offset_ = 0;  // of the coordinator's clock, in nanoseconds
  bool has_clock_ = false;         // it counts the time of the run
  bool in_term_ = false;           // begin() may go on with the term
  bool is_over_ = false;           // the run, for this process
  bool has_failed_ = false;        // by itself
  bool is_lost_ = false;           // when it failed, it had lost the coordinator
  bool has_trained_ = false;
  std::atomic<bool> asked_to_leave_ = false;
  bool run_is_over_ = false;  // for all
  std::atomic<bool> dropped_out_ = false;
  Seconds step_began_ = 0;
  Progress last_;
  WorkerResult so_far_;
  std::optional<Job> run_job_;
  std::unique_ptr<const Job> job_;  // of the term
  std::int64_t training_samples_ = 0;
  Term term_;
  std::optional<NextTermInfo> next_;       // that is being prepared
  std::optional<IncomingState> incoming_;  // of that term
  State kept_;        // of the training, from the last term; empty in the first one
  KeptState server_;  // the same of a server
  Figures figures_;   // of a server
  // The number of the last term that was asked to end.
  std::atomic<std::int64_t> cut_term_ = -1;
  Replica* replica_ = nullptr;
  Beginning beginning_ = Beginning::kAlreadyEqual;
  Journal journal_;
  mutable std::mutex telling_;        // used by the training thread, the heartbeat and the sockets
  ProgressInfo progress_;             // guarded by telling_: the latest progress
  std::optional<std::string> abort_;  // guarded by telling_: why the run fails
  std::optional<std::string> stopped_;      // guarded by telling_: why it ends early
  std::deque<EvaluatedInfo> evaluated_;     // guarded by telling_: not taken yet
  std::vector<double> counts_;              // guarded by telling_: of all workers
  std::int64_t term_number_ = -1;           // guarded by telling_: of the term under way
  std::vector<Rank> members_;               // guarded by telling_: its processes, by rank
  std::map<Rank, std::string> lost_peers_;  // guarded by telling_: to whom no connection is left
  std::unique_ptr<Training> training_;
  StateSender state_sender_;
  std::unique_ptr<Heartbeat> heartbeat_;  // last member: it uses all of the above
};

}  // namespace motley
