// DealtSamples: the samples of a worker that runs at its own pace. The coordinator deals them out
// on request (dealer.h). A worker that gets no more samples has done its part.
//
//   samples.begin();  compute(samples.work());
//   ... to the coordinator: samples.count(), samples.want();  back from it: a Grant ...
//   progress = samples.take(grant, computed);
//
// The method chooses how request and grant are sent. SampleClient (sample_client.h) sends them in
// messages of their own, one iteration ahead, so that no worker waits for them. If the workers of a
// method signal the coordinator after every iteration anyway, that signal can carry the request,
// and its answer the grant.
#pragma once

#include <cstdint>

#include "motley/allocate/ledger.h"
#include "motley/sync/strategy.h"

namespace motley {

// Which model is evaluated: the mean of all workers' models, or, if any of them will do, the model
// of the first worker that is ready.
enum class EvaluatedModel { kMean, kAnyWorker };

// A request for so many samples asks for the end of the term.
inline constexpr std::int64_t kNoMore = 0;

// The coordinator's answer to a request for samples.
struct Grant {
  StepSamples next;             // empty if there are no more samples
  std::int64_t used = 0;        // samples used by all workers so far; at the end, the run's total
  std::int64_t evaluation = 0;  // to which the model after this iteration contributes; 0 for none
};

class DealtSamples {
 public:
  explicit DealtSamples(const StrategyContext& context,
                        EvaluatedModel evaluated = EvaluatedModel::kMean);

  // Begins an iteration: changes of the allocation take effect.
  void begin();
  // What to compute in this iteration.
  Work work();
  std::int64_t count() const { return samples_.count; }
  // How many samples to request for the next iteration, according to the current allocation;
  // kNoMore if the term should end early.
  std::int64_t want() const;
  // Ends an iteration: takes its result and the grant for the next one.
  Progress take(const Grant& grant, const Computed& computed);
  // True if another iteration follows.
  bool goes_on() const { return samples_.count > 0; }

 private:
  bool phantom() const { return context_.replica.gradient().phantom(); }

  StrategyContext context_;
  const int parts_;      // number of models in one evaluation
  StepSamples samples_;  // of the current iteration, or of the next one
};

}  // namespace motley
