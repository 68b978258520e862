// Strategy: one worker's side of a method, as the training loop calls it.
//
// The loop makes two calls per step: begin() says what to compute; finish() takes the result and
// does what defines the method: exchange, average, apply. Both may block on the Node. Pacing,
// counting and reporting are done by the loop (sync/loop.h), so a method contains only its
// protocol.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "motley/allocate/ledger.h"
#include "motley/job/job.h"
#include "motley/node/node.h"
#include "motley/record/journal.h"
#include "motley/state/archive.h"
#include "motley/sync/replica.h"
#include "motley/sync/term.h"

namespace motley {

class Allocator;    // sync/allocator.h
class RingMeeting;  // sync/ring_meeting.h

// How the workers of a method advance from step to step.
enum class Advance {
  kTogether,   // all take the same step and agree on everybody's share of it; results are summed
  kAtOwnPace,  // each worker decides for itself, based on the messages it has received
};

// What a worker computes next. For a phantom replica the indices are left out.
struct Work {
  std::span<const SampleIndex> samples;
  std::size_t count = 0;
  // Samples of the step of all workers of which this is a part; at their own pace, of a batch. Set
  // by the training loop.
  std::int64_t step_samples = 0;
};

// What a step has computed besides its gradient. Together with the gradient, the training loop sums
// it over all workers, or, at their own pace, reports it.
struct StepResult {
  // The sum of the losses of the samples, each multiplied by its weight if there are weights.
  double loss_sum = 0;
  // The sum of the weights by which losses and gradients were multiplied. The step is then that of
  // the weighted mean. Not given: every sample has weight 1.
  std::optional<double> weight = {};
  // Numbers of the program, at most kMostCounts, in an order that is the same on all workers.
  std::vector<double> counts = {};
  // Whether this worker has heard what is to be announced on all workers after the same step.
  bool has_heard = false;
};
// With how many numbers of the program a step can be reported.
inline constexpr std::size_t kMostCounts = 12;

// The result of computing: the sum of the samples' losses.
struct Computed {
  double loss_sum = 0;
  std::size_t samples = 0;
};

// A request to evaluate the mean of the models of `parts` workers. Each worker sends its model when
// it reads the request.
struct Evaluate {
  std::int64_t number = 0;  // identifies the evaluation that this part belongs to
  int parts = 1;
};

// How far the whole cluster is after this worker's step, as far as this worker knows.
struct Progress {
  std::int64_t samples = 0;  // used by all workers together
  double loss_sum = 0;       // over the loss_samples samples that this step reports
  std::int64_t loss_samples = 0;
  std::optional<Evaluate> evaluate;  // set if this worker's model is to be evaluated now
  // Set by the method: the numbers behind the gradient (Replica::kTail) are now sums over all
  // workers.
  bool is_summed = false;

  // The mean loss of the step: of the whole step in methods with common steps if is_summed,
  // otherwise of this worker's part. NaN if it is unknown. Set by the training loop, unless the
  // method has.
  double mean_loss = std::numeric_limits<double>::quiet_NaN();
  // Set by the training loop. What StepResult::counts were, since the last progress that had some:
  // summed over all workers if is_summed, otherwise of this worker.
  std::vector<double> counts = {};
  bool all_have_heard = false;  // StepResult::has_heard was true on every worker
};

// How far a worker was when its term was cut off.
struct Settled {
  // Methods with common steps: samples used by all workers at the last one that its model has
  // taken.
  std::int64_t used = 0;
  // Samples of updates that others may have already, and that this worker will share again.
  std::int64_t repeated = 0;
  // Updates that are only in its own model; nullopt: as many as the coordinator thinks.
  std::optional<std::int64_t> unshared = std::nullopt;
  // Updates in its last commit to servers; nullopt: it has made none in this term.
  std::optional<std::int64_t> served = std::nullopt;
};

class Strategy {
 public:
  virtual ~Strategy() = default;

  // The samples to compute next, or nullopt when the term is over for this worker.
  virtual std::optional<Work> begin() = 0;
  virtual Progress finish(const Computed& computed) = 0;

  // Whether finish() divides the summed gradient by the sum of all workers' weights
  // (CommonSteps::weight()). Otherwise a worker's gradient is divided by its own weight before.
  virtual bool sums_weights() const { return false; }

  // Called once, after begin() has returned nullopt, if the run is over and not only the term: the
  // workers agree on the final model. All of them are in this call at the same time.
  virtual void end_run() {}

  // The term was cut off, because a member was lost: an Interrupted has left begin(), finish() or
  // end_run(), and all activities have returned. Brings the model into a state to go on from: takes
  // back what was half done, for example an average in place. Makes no Node calls. By default
  // nullopt: the method cannot lose a member, and the run ends.
  virtual std::optional<Settled> settle() { return std::nullopt; }

  // What the method keeps besides the replica, from one term to the next (motley/sync/term.h) and
  // in checkpoints: residuals, momenta, counters. Called after begin() has returned nullopt or
  // after settle(), and to restore, before the first begin(). A method that keeps nothing has an
  // empty body.
  virtual void state(Archive& archive) = 0;

  // How much of the time spent in begin() and finish() was waiting for slower workers.
  virtual Seconds waited() const = 0;
};

// Ledger options for a job whose data set has this many samples.
LedgerOptions ledger_options(const Job& job, std::int64_t training_samples, const Term& term = {});

// The factor for the gradient sum of a worker that updates its own model. An equal part of a batch
// then moves the model by the mean gradient, more or fewer samples in proportion. So every sample
// has the same weight, whoever computes it, and the mean of all workers' steps is the step of the
// whole batch.
double own_step_scale(const LedgerOptions& ledger, int workers);

// Everything a strategy may use. The references outlive it.
struct StrategyContext {
  Node& node;
  Replica& replica;
  Ledger& ledger;
  Allocator& allocator;  // how much each worker computes
  const Job& job;
  Journal& journal;  // for decisions and their reasons
  // True when the term should end early (target reached, interrupted, a checkpoint is due). The
  // strategy must make all workers leave together. Phantom blocks carry no data, so votes cannot be
  // summed; the simulator gives every worker the same answer at its n-th call instead.
  std::function<bool()> stop_requested;
  RingMeeting* meeting = nullptr;  // only in large simulations (sync/ring_meeting.h)
  Term term = {};
  std::uint64_t seed = 0;  // for random numbers: of this term (seed_of())
};

}  // namespace motley
