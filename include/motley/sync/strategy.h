// Strategy: one worker's side of a method, as the training loop sees it.
//
// The loop asks twice a step: begin() says what to compute, finish() does with the result what the
// method is about: exchange, average, apply. Both may block on the Node. Everything else (pacing,
// counting, reporting) is the loop's (sync/loop.h), so a method is only its protocol.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "motley/allocate/ledger.h"
#include "motley/job/job.h"
#include "motley/node/node.h"
#include "motley/record/journal.h"
#include "motley/sync/replica.h"

namespace motley {

class Allocator;    // sync/allocator.h
class RingMeeting;  // sync/ring_meeting.h

// How the workers of a method go on from step to step.
enum class Advance {
  kTogether,   // all take the same step: they sum, and hold the same shares at every moment
  kAtOwnPace,  // each sends, and decides for itself on what it last heard
};

// What a worker computes next. `count` alone is meaningful for a phantom replica.
struct Work {
  std::span<const SampleIndex> samples;
  std::size_t count = 0;
};

// What came of it: the sum of the samples' losses.
struct Computed {
  double loss_sum = 0;
  std::size_t samples = 0;
};

// A model to be evaluated: the mean of what so many workers hold, each when it comes to it.
struct Evaluate {
  std::int64_t number = 0;  // of the evaluation, so that parts of two are not mixed
  int parts = 1;
};

// Where the whole cluster stands, as far as this worker knows, after its step.
struct Progress {
  std::int64_t samples = 0;  // used so far by all workers together
  double loss_sum = 0;       // of the samples that this step reports (see loss_samples)
  std::int64_t loss_samples = 0;
  std::optional<Evaluate> evaluate;  // this worker's model is to be evaluated as it is now
};

class Strategy {
 public:
  virtual ~Strategy() = default;

  // nullopt: the run is over.
  virtual std::optional<Work> begin() = 0;
  virtual Progress finish(const Computed& computed) = 0;

  // Of the time spent in begin() and finish(), how much was waiting for slower workers.
  virtual Seconds waited() const = 0;
};

// The ledger of a job whose data set has this many samples.
LedgerOptions ledger_options(const Job& job, std::int64_t training_samples);

// What the sum of gradients that a worker computed is multiplied by, where it moves a model of its
// own. An equal part of a batch moves it by the mean gradient; more samples or fewer move it in
// proportion. So every sample weighs the same, whoever computes it, and the mean of all workers'
// steps is the step of the whole batch.
double own_step_scale(const LedgerOptions& ledger, int workers);

// All that a strategy is given. The references outlive it.
struct StrategyContext {
  Node& node;
  Replica& replica;
  Ledger& ledger;
  Allocator& allocator;  // how much each worker computes
  const Job& job;
  Journal& journal;  // for what is decided
  // True once the run should end early (target reached, interrupted). The strategy sees to it that
  // all workers leave together. Votes cannot travel in a phantom: those who train one, which is in
  // a simulation, are all told the same when each asks for the n-th time.
  std::function<bool()> stop_requested;
  RingMeeting* meeting = nullptr;  // of large simulations (sync/ring_meeting.h)
};

}  // namespace motley
