// Dealer: the coordinator's side of DealtSamples (dealt_samples.h): deals out samples, and turns in
// evaluations, to workers without a common step. It sends nothing itself.
//
//   dealer.deal(worker, computed, want);                   // its request has come
//   ... send dealer.grant(worker) ...                      // at once, or when its turn has come
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "motley/allocate/dispenser.h"
#include "motley/sync/dealt_samples.h"
#include "motley/sync/service.h"

namespace motley {

class Dealer {
 public:
  // The first step is with the workers already: each rank works out its own share of it.
  explicit Dealer(const ServiceContext& context, Evaluated evaluated = Evaluated::kMean);

  // A worker has computed so many samples, and wants some for its next iteration. What it gets is
  // its own from now on: the next samples of the run, fewer at its end. Returns how many; 0: there
  // are no more.
  std::int64_t deal(Rank worker, std::int64_t computed, std::int64_t want);
  // What the worker is told, as things stand now. `fit`: its model is one to evaluate.
  Grant grant(Rank worker, bool fit = true);

 private:
  // The number of the evaluation that this worker's model is to be a part of as it is now; 0: none.
  //
  // What is evaluated every `eval_every` steps of samples is what the run would leave if it ended
  // there: mostly the mean of all models. Each worker is asked once then; only when all were asked
  // the next evaluation may begin. Where anyone's model will do, the first worker that is `fit` is
  // asked; the next evaluation begins only after that worker was heard of again, so that
  // evaluations come in order.
  std::int64_t evaluation_for(Rank worker, bool fit);

  const int workers_;
  const Evaluated evaluated_kind_;
  const std::int64_t samples_per_evaluation_;  // 0: none but the last
  const std::function<bool()> stop_requested_;
  Dispenser dispenser_;
  std::vector<StepSamples> next_;   // by worker: what it was dealt last
  std::int64_t used_ = 0;           // samples, by all workers
  std::int64_t evaluation_ = 0;     // the number of the last one
  std::int64_t evaluated_ = 0;      // samples used when it began
  std::set<Rank> to_ask_;           // for their part in it
  std::optional<Rank> evaluating_;  // whose model it is of, where anyone's will do
};

}  // namespace motley
