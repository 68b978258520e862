// The training loop: begin, compute, finish, until the strategy says that the term is over.
//
//   Training training(node, part);
//   while (const auto work = training.begin()) {
//     node.busy(training.cost(), [&] { loss = replica.compute(work->samples); });
//     training.finish({.loss_sum = loss});
//   }
//   training.end_run();                  // if the run is over too
//
// Real and simulated workers run this same loop, and real and simulated coordinators the same
// service. A program with its own loop makes the same calls (motley/trainer.h).
#pragma once

#include <functional>
#include <memory>

#include "motley/job/job.h"
#include "motley/node/node.h"
#include "motley/sync/replica.h"
#include "motley/sync/service.h"
#include "motley/sync/strategy.h"
#include "sync/allocator.h"
#include "sync/survivor.h"

namespace motley {

// How one worker's time was spent. The three parts add up to `seconds`.
struct WorkerTimes {
  Seconds seconds = 0;
  Seconds compute = 0;
  Seconds communicate = 0;
  Seconds wait = 0;

  void state(Archive& archive) {
    archive("seconds", seconds);
    archive("compute", compute);
    archive("communicate", communicate);
    archive("wait", wait);
  }
};

struct WorkerResult {
  std::int64_t samples = 0;      // computed by this worker
  std::int64_t steps = 0;        // its own iterations
  std::size_t step_samples = 0;  // of the last one
  WorkerTimes times;
  AllocationResult allocation;  // set when the term is over

  void state(Archive& archive);
};

// Observes a worker that trains. The loop calls it inside Node::busy, so it may use torch and files
// but must not block on the Node. `seconds` is this worker's training time so far.
class Observer {
 public:
  virtual ~Observer() = default;
  // Called after every step of this worker.
  virtual void on_step(Seconds seconds, const Progress& progress, const WorkerResult& so_far) = 0;
  // Called after on_step if the current model is to be evaluated.
  virtual void on_snapshot(Seconds seconds, const Progress& progress, Replica& replica) = 0;
};

// One worker's part in a job. The references must outlive the training.
struct Part {
  const Job& job;
  std::int64_t training_samples;  // in the data set
  Replica& replica;
  Observer& observer;
  // True when the term should end early (target reached, interrupted, a checkpoint is due).
  std::function<bool()> stop_requested;
  RingMeeting* meeting = nullptr;  // only in large simulations (sync/ring_meeting.h)
  Journal* journal = nullptr;      // null: nobody reads it
  Term term = {};
  const State* kept = nullptr;  // from the term before (Training::state()); null in the first term
};

// One worker's training during a term, step by step. Calls may block on the Node and throw what it
// throws.
class Training {
 public:
  // The references in `part` must outlive it.
  Training(Node& node, const Part& part);
  ~Training();
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;

  // What to compute next, valid until finish(); nullopt when the term is over.
  std::optional<Work> begin();
  // How long computing it should take (Node::busy), by the job's [cluster]. Call once per begin().
  Seconds cost();
  // Call when it is computed: the gradient is in the replica. If the result has a weight, each
  // sample's gradient is multiplied by its weight. Throws std::logic_error if the result is
  // invalid, or if others gave weights and this worker did not.
  void finish(const StepResult& result);

  // Call after begin() has said that the term is over, if the run is over too: the workers agree on
  // the final model.
  void end_run();

  // Call if an Interrupted has left finish(): whether the step's gradient is in the model all the
  // same.
  bool has_applied() const;

  // Call if the term is cut off: after an Interrupted has left a call, when all activities of the
  // node have returned. Afterwards model and state() are those of a worker that can go on in
  // another term. Makes no Node calls. nullopt: the method cannot go on.
  std::optional<Survivor> settle();

  // Call after begin() has said that the term is over. Totals are over the whole run.
  WorkerResult result();
  // The totals up to this worker's last step.
  const WorkerResult& so_far() const;
  // What this worker keeps for the next term, besides its replica. Call when the term is over, or
  // after settle().
  void state(Archive& archive);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// Runs the whole loop of a run of one term. Returns when the run is over for this worker.
WorkerResult train(Node& node, const Part& part);
// Takes steps until the term is over.
void train_term(Node& node, Training& training, Replica& replica);

// Runs a server of a method that has servers. Returns when the term is over for all workers.
Figures run_server(Node& node, const Job& job, Journal* journal = nullptr,
                   KeptState* kept = nullptr);

// What will be dealt in a term: nothing yet but each worker's share of its first step. `own` is
// from terms that were cut off (runtime/run/run_position.h).
Dealings dealings_of(const Job& job, std::int64_t training_samples, const Term& term,
                     const std::vector<OwnUpdates>& own = {});

// Runs the coordinator's side of the job's method. Returns when the term is over for all workers;
// at once if the method has none.
ServiceResult serve(Node& node, const Job& job, std::int64_t training_samples,
                    std::function<bool()> stop_requested, Journal* journal = nullptr,
                    std::vector<int> machines = {}, const Term& term = {},
                    KeptState* kept = nullptr, Dealings* dealings = nullptr);

}  // namespace motley
