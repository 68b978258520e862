// Run: one training of one model by all processes of a session, a step at a time. motley/trainer.h
// makes it easy for torch modules; this is what is below, for any model that is a Replica.
//
//   motley::Run run(session, options, replica, training_samples);
//   run.fit([&](const motley::Work& work) { return replica.compute(work.samples); });
//
// Thread rule: one thread makes all calls, in every process. begin() and finish() block while the
// method waits for others.
// Ownership: session and replica are the caller's and outlive the run; work->samples is valid until
// finish().
// Failure: every call may throw RunFailed, with the first cause in the whole run, whoever's it was;
// what hooks throw comes out as it was; calls out of turn throw std::logic_error.
// A run that is destroyed before begin() has said that it is over takes the others down, too: call
// stop() to end early in order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "motley/options.h"
#include "motley/session.h"
#include "motley/sync/replica.h"
#include "motley/sync/strategy.h"
#include "motley/sync/task.h"

namespace motley {

// What a run can be told beside its options.
struct RunHooks {
  // Judges a model: mean loss and accuracy of these numbers. On rank 0, on the thread that calls
  // begin(), between two steps; the others of a lock-step method wait for it. None: nothing is
  // judged.
  std::function<Evaluation(const Snapshot&)> evaluate = {};
  // What else must be the same on every rank besides the tensors of the replica, a line each with
  // its name first: "optimizer Adam with learning rate 0.01". Ranks that differ are refused.
  std::string settings = {};
};

// What came of a run.
struct RunResult {
  double seconds = 0;                       // of training
  std::int64_t samples = 0;                 // used by all workers
  std::int64_t steps = 0;                   // samples / batch
  std::optional<double> loss = {};          // of the last evaluation; known on rank 0
  std::optional<double> accuracy = {};      // likewise
  std::optional<std::string> stopped = {};  // why it ended early: "target", "SIGINT"
  std::string summary = {};                 // as summary.json (docs/job-file.md); on rank 0
};

class Run {
 public:
  // Returns when all ranks have come and are ready; all begin with the numbers of rank 0's replica.
  // Throws Refused when the options make no sense, RunFailed when somebody is missing, comes twice
  // or trains something else.
  Run(Session& session, const Options& options, Replica& replica, std::int64_t training_samples,
      RunHooks hooks = {});
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // All of it: `compute` leaves the sum of the gradients in the replica and returns that of the
  // losses. What it throws takes the run down, with its message as the cause, and comes out here.
  void fit(const std::function<double(const Work&)>& compute);

  // Or a step at a time. What to compute next; nullopt: the run is over, for all.
  std::optional<Work> begin();
  // It is computed: the replica holds the sum of the samples' gradients, this is that of their
  // losses. Returns where the run stands.
  Progress finish(double loss_sum);
  // Runs `body`, as fit() runs `compute`: for what is the program's own, in the step or beside it.
  void in_step(const std::function<void()>& body);
  // Asks that the run end early, in order: some steps later begin() says so, on every rank.
  void stop();

  // The resolved job.
  const Job& job() const;
  // Once the run is over; before, std::logic_error.
  const RunResult& result() const;

  class Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace motley
