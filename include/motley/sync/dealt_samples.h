// DealtSamples: the samples of a worker that goes at its own pace. The coordinator deals them out
// as they are wanted (dealer.h); who gets no more samples has done its part.
//
//   samples.begin();  compute(samples.work());
//   ... to the coordinator: samples.count(), samples.want();  back from it: a Grant ...
//   progress = samples.take(grant, computed);
//
// How request and grant travel is the method's choice. SampleClient (sample_client.h) sends
// messages of its own, an iteration ahead, so that nobody waits for them. A method whose workers
// signal the coordinator after every iteration anyway lets that signal carry the request, and its
// answer the grant (messages.h of such a method).
#pragma once

#include <cstdint>

#include "motley/allocate/ledger.h"
#include "motley/sync/strategy.h"

namespace motley {

// What is evaluated: the mean of all workers' models, or the model of whoever is ready first, where
// all are as good.
enum class Evaluated { kMean, kAnyone };

// What the coordinator answers to a request for samples.
struct Grant {
  StepSamples next;             // no samples: there are no more
  std::int64_t used = 0;        // samples, by all workers so far; in the end, by all at all
  std::int64_t evaluation = 0;  // that the model after this iteration is a part of; 0: none
};

class DealtSamples {
 public:
  explicit DealtSamples(const StrategyContext& context, Evaluated evaluated = Evaluated::kMean);

  // An iteration begins: changes of the allocation take effect.
  void begin();
  // What it computes.
  Work work();
  std::int64_t count() const { return samples_.count; }
  // Samples to ask for, for the next iteration; by the allocation as it is now.
  std::int64_t want() const;
  // The iteration was computed, and this is what comes next.
  Progress take(const Grant& grant, const Computed& computed);
  // Whether there is another iteration.
  bool goes_on() const { return samples_.count > 0; }

 private:
  bool phantom() const { return context_.replica.gradient().phantom(); }

  StrategyContext context_;
  const int parts_;      // of a model that is evaluated
  StepSamples samples_;  // of the iteration under way, or to come
};

}  // namespace motley
