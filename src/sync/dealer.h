// Dealer: what a service deals out to workers without a common step: samples, and turns in
// evaluations.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>

#include "allocate/dispenser.h"
#include "motley/sync/service.h"
#include "sync/sample_client.h"

namespace motley {

class Dealer {
 public:
  // The first step is with the workers already: each rank works out its own share of it.
  explicit Dealer(const ServiceContext& context, Evaluated judged = Evaluated::kMean);

  // The next `want` samples of the run, fewer at its end. count = 0: there are no more.
  StepSamples next(std::int64_t want);
  std::int64_t dealt() const { return dispenser_.dealt(); }
  // A worker has computed so many.
  void computed(std::int64_t samples) { used_ += samples; }
  std::int64_t used() const { return used_; }

  // The number of the evaluation that this worker's model is to be a part of as it is now; 0: none.
  //
  // What is judged every `eval_every` steps of samples is what the run would leave if it ended
  // there: mostly the mean of all models. Each worker is asked once then; only when all were asked
  // the next evaluation may begin. Where anyone's model will do it is whoever is `fit` first; the
  // next one is not asked before that worker is heard of again, so that evaluations come in order.
  std::int64_t evaluation_for(Rank worker, bool fit = true);

 private:
  const int workers_;
  const Evaluated evaluated_kind_;
  const std::int64_t samples_per_evaluation_;  // 0: none but the last
  const std::function<bool()> stop_requested_;
  Dispenser dispenser_;
  std::int64_t used_ = 0;           // samples, by all workers
  std::int64_t evaluation_ = 0;     // the number of the last one
  std::int64_t evaluated_ = 0;      // samples used when it began
  std::set<Rank> to_ask_;           // for their part in it
  std::optional<Rank> evaluating_;  // whose model it is of, where anyone's will do
};

}  // namespace motley
