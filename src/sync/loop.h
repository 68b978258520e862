// The whole of training: begin, compute, finish, until the strategy says that the run is over.
//
//   Training training(node, part);
//   while (const auto work = training.begin()) {
//     node.busy(training.cost(), [&] { loss = replica.compute(work->samples); });
//     training.finish(loss);
//   }
//
// Real and simulated workers run this same loop, a program with a loop of its own runs it in its
// own words (motley/trainer.h), real and simulated coordinators run the same service.
#pragma once

#include <functional>
#include <memory>

#include "motley/job/job.h"
#include "motley/node/node.h"
#include "motley/sync/replica.h"
#include "motley/sync/service.h"
#include "motley/sync/strategy.h"
#include "sync/allocator.h"

namespace motley {

// How one worker's time was spent. The three parts add up to `seconds`.
struct WorkerTimes {
  Seconds seconds = 0;
  Seconds compute = 0;
  Seconds communicate = 0;
  Seconds wait = 0;
};

struct WorkerResult {
  std::int64_t samples = 0;      // computed by this worker
  std::int64_t steps = 0;        // its own iterations
  std::size_t step_samples = 0;  // of the last one
  WorkerTimes times;
  AllocationResult allocation;  // filled in when the run is over
};

// Who watches a worker train. Calls come from the loop, inside Node::busy, so they may touch torch
// and files but must not block on the Node. `seconds` is this worker's training time so far.
class Observer {
 public:
  virtual ~Observer() = default;
  // After every step of this worker.
  virtual void on_step(Seconds seconds, const Progress& progress, const WorkerResult& so_far) = 0;
  // After on_step, when the model as it is now is worth an evaluation.
  virtual void on_snapshot(Seconds seconds, const Progress& progress, Replica& replica) = 0;
};

// One worker's part in a job. The references outlive the training.
struct Part {
  const Job& job;
  std::int64_t training_samples;  // in the data set
  Replica& replica;
  Observer& observer;
  // True once the run should end early (target reached, interrupted).
  std::function<bool()> stop_requested;
  RingMeeting* meeting = nullptr;  // of large simulations (sync/ring_meeting.h)
  Journal* journal = nullptr;      // none: nobody reads it
};

// One worker's training, a step at a time. Calls may block on the Node and throw what it throws.
class Training {
 public:
  // The references in `part` outlive it.
  Training(Node& node, const Part& part);
  ~Training();
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;

  // What to compute next, valid until finish(); nullopt: the run is over.
  std::optional<Work> begin();
  // How long computing it is to last (Node::busy), by the job's [cluster]. Once for each begin().
  Seconds cost();
  // It is computed: the gradient is in the replica, the sum of the losses is this.
  void finish(double loss_sum);

  // After begin() has said that the run is over.
  WorkerResult result() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// All of it. Returns when the run is over for this worker.
WorkerResult train(Node& node, const Part& part);

// A server's part in a job whose method has servers. Returns when the run is over for all workers.
Figures run_server(Node& node, const Job& job, Journal* journal = nullptr);

// The coordinator's side of the job's method. Returns when the run is over for all workers; at once
// when the method has none.
ServiceResult serve(Node& node, const Job& job, std::int64_t training_samples,
                    std::function<bool()> stop_requested, Journal* journal = nullptr);

}  // namespace motley
