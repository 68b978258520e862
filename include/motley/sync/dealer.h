// Dealer: the coordinator's side of DealtSamples (dealt_samples.h): deals out samples, and
// requests to be evaluated, to workers that have no common step. It sends no messages itself.
//
//   dealer.deal(worker, computed, want);                   // its request has arrived
//   ... send dealer.grant(worker) ...                      // now or later
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
  // The samples of the term's first step are not dealt out: each rank computes its own share of it.
  explicit Dealer(const ServiceContext& context, EvaluatedModel evaluated = EvaluatedModel::kMean);

  // The worker has computed this many samples and wants some for its next iteration. It gets the
  // next samples of the run, at the end of the run fewer than it wants. Returns how many; 0 if
  // there are none left. If it wants no more (kNoMore), nobody gets any.
  std::int64_t deal(Rank worker, std::int64_t computed, std::int64_t want);
  // The answer to the worker, as of now. `eligible`: its model may be evaluated.
  Grant grant(Rank worker, bool eligible = true);

  // An evaluation that some workers were asked for and others were not is forgotten: it is due
  // again in the next term.
  void state(Archive& archive);

 private:
  // The number of the evaluation to which this worker's current model contributes; 0 for none.
  //
  // Every `eval_every` steps' worth of samples, the model is evaluated that the run would leave if
  // it ended there. In kMean mode this is the mean of all models: each worker is asked once, and
  // the next evaluation may begin only when all have been asked. In kAnyWorker mode, the first
  // `eligible` worker is asked; the next evaluation begins only after another request of that
  // worker, so that evaluations come in order.
  std::int64_t evaluation_for(Rank worker, bool eligible);

  const int workers_;
  Dealings* const dealings_;  // may be null
  const EvaluatedModel evaluated_model_;
  const std::int64_t samples_per_evaluation_;  // 0: only at the end of the run
  const std::function<bool()> stop_requested_;
  Dispenser dispenser_;
  std::vector<StepSamples> next_;   // by worker: the samples dealt to it last
  std::int64_t used_;               // samples used by all workers
  std::int64_t evaluation_ = 0;     // number of the last evaluation
  std::int64_t evaluated_;          // samples used when it began
  std::int64_t evaluated_before_;   // and when the one before it began
  std::set<Rank> to_ask_;           // workers still to be asked for their models
  std::optional<Rank> evaluating_;  // kAnyWorker: whose model is being evaluated
};

}  // namespace motley
