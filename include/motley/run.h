// Run: trains one model with all processes of a session, step by step. For torch modules,
// motley/trainer.h is easier to use; this is the layer below it, for any model that is a Replica.
//
//   motley::Run run(session, options, replica, training_samples);
//   run.fit([&](const motley::Work& work) { return replica.compute(work.samples); });
//
// With options.micro_batch the run tells the replica the most samples to compute at once
// (Replica::set_micro_batch); begin() still returns the whole share. motley/base/micro_batch.h
// divides it into the parts that the run's cost counts.
//
// Thread rule: in every process, one thread makes all calls. begin() and finish() block while the
// method waits for other ranks.
// Ownership: the caller owns session and replica, which must outlive the run; work->samples is
// valid until finish().
// Failure: every call may throw RunFailed with the first cause of the failure, on whichever rank it
// was. Exceptions of hooks are rethrown unchanged. Calls out of turn throw std::logic_error.
// Destroying a run before begin() has returned nullopt fails it on all ranks: call stop() to end a
// run early.
#pragma once

#include "motley/base/cxx20.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "motley/options.h"
#include "motley/session.h"
#include "motley/sync/replica.h"
#include "motley/sync/strategy.h"
#include "motley/sync/task.h"

namespace motley {

// What a run needs from the program besides its options.
struct RunHooks {
  // Evaluates a model: returns the mean loss and accuracy of the snapshot. Called on rank 0 only,
  // between two steps, on the thread that calls begin(); with a lock-step method the other workers
  // wait for it. If empty, nothing is evaluated.
  // Snapshot::samples says how far the run was.
  std::function<Evaluation(const Snapshot&)> evaluate = {};
  // Settings that must be equal on all ranks, besides the replica's tensors: one per line, the name
  // first, as in "optimizer Adam with learning rate 0.01". A rank that differs is refused. If
  // empty, only the tensors are compared.
  std::string settings = {};
  // Called on every rank with what `evaluate` returned, some steps later, between two steps: with a
  // method that takes steps together, between the same two on all ranks (after an average, if it
  // exchanges only then). `samples` is Snapshot::samples. Not called for the final model, nor for
  // evaluations of which the ranks had not heard when the run was cut off or resumed.
  std::function<void(std::int64_t samples, const Evaluation&)> on_evaluation = {};
};

// The result of a run.
struct RunResult {
  double seconds = 0;                   // training time
  std::int64_t samples = 0;             // used by all workers
  std::int64_t steps = 0;               // samples / batch
  std::optional<double> loss = {};      // of the last evaluation; on rank 0 only
  std::optional<double> accuracy = {};  // likewise
  // Why it ended early: "target", "SIGINT"; "left": this rank has left the run or came too late,
  // and the others go on without it. Then the figures are of the time until then, and the model is
  // not the final one.
  std::optional<std::string> stopped = {};
  std::string summary = {};  // as summary.json (docs/job-file.md); on rank 0 only
};

class Run {
 public:
  // Returns when all ranks have joined and are ready; all start with the parameters of rank 0's
  // replica. Throws Refused if the options are invalid, RunFailed if a rank is missing, joins twice
  // or trains something else.
  Run(Session& session, const Options& options, Replica& replica, std::int64_t training_samples,
      RunHooks hooks = {});
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // Runs all steps. `compute` leaves the sum of the gradients in the replica and returns the sum of
  // the losses. An exception from it fails the run with its message as the cause, and is rethrown
  // here.
  void fit(const std::function<double(const Work&)>& compute);

  // Or step by step: begin() returns what to compute next, or nullopt when the run is over on all
  // ranks.
  std::optional<Work> begin();
  // Call when the step is computed: the replica holds the sum of the samples' gradients, each
  // multiplied by its weight if the result has a weight. Returns the progress of the run.
  Progress finish(const StepResult& result);
  // The same without weights: `loss_sum` is the sum of the samples' losses.
  Progress finish(double loss_sum);
  // Whether this rank's model has taken the step of the last finish(). False if another rank was
  // lost in the middle of it: the next begin() returns what is to be computed instead.
  bool applied() const;
  // Runs `body` with the exception handling of fit(): for the program's own code, during a step or
  // between two.
  void in_step(const std::function<void()>& body);
  // Asks for an early, orderly end: begin() then returns nullopt on every rank. With a method that
  // takes steps together, after the next finish() of this rank (the next that ends in an average,
  // if it exchanges only then); otherwise each finishes its iteration and at most one more.
  void stop();

  // Whether the method takes steps together (Advance::kTogether).
  bool steps_together() const;
  // If not: StepResult::counts, summed over all ranks and the whole run, as this rank was last
  // told. At the end it has been told everything. Otherwise empty: Progress has the sums of each
  // step.
  std::vector<double> counts() const;

  // The resolved job.
  const Job& job() const;
  // Throws std::logic_error before the run is over.
  const RunResult& result() const;

  class Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace motley
