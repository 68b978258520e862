// SampleClient: the samples of a worker that goes at its own pace.
//
//   worker                          coordinator (depot.h)
//     request: k begins, what next? ->
//     ... computes k ...            <- Grant: the samples of the next iteration, or none
//     farewell: what it counted     ->
//
// A worker asks one iteration ahead, when it begins to compute: the answer is there when it is
// needed, unless the way to the coordinator and back takes longer than an iteration. Who gets no
// more samples has done its part.
//
// Cost per iteration: a request and an answer of about 100 bytes each.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "motley/allocate/ledger.h"
#include "motley/sync/strategy.h"

namespace motley {

// What a worker says, in the tag of a header.
enum class SampleMessage : std::int64_t { kRequest, kNote, kFarewell };

// What is evaluated: the mean of all workers' models, or the one of whoever is ready first, where
// it is the same whose it is.
enum class Evaluated { kMean, kAnyone };

// Where a worker stands when it begins an iteration.
struct CommitState {
  std::int64_t commits = 0;    // that it has made, where a method has such
  Seconds commit_seconds = 0;  // that the last of them took
  bool fit = true;             // its model after this iteration is one to be judged
};

// A worker begins an iteration.
struct SampleRequest {
  std::int64_t iteration = 0;
  std::int64_t samples = 0;  // that it takes
  std::int64_t want = 0;     // for the next one
  Seconds at = 0;            // by the worker's clock
  double loss_sum = 0;       // of the samples of the iteration before; NaN: it has none
  std::int64_t commits = 0;
  Seconds commit_seconds = 0;
  std::int64_t fit = 1;
};

// A worker has done its part. What it counted follows in the payload.
struct Farewell {
  std::int64_t iteration = 0;  // its last one
  Seconds at = 0;

  Header header() const {
    return {static_cast<std::int64_t>(SampleMessage::kFarewell), iteration,
            std::bit_cast<std::int64_t>(at)};
  }
  static Farewell of(const Header& header) { return {header.a, std::bit_cast<Seconds>(header.b)}; }
};

struct Grant {
  StepSamples next;             // no samples: there are no more
  std::int64_t used = 0;        // samples, by all workers so far; in the end, by all at all
  std::int64_t evaluation = 0;  // that the model after this iteration is a part of; 0: none
};

// A worker's side.
class SampleClient {
 public:
  explicit SampleClient(const StrategyContext& context, Evaluated judged = Evaluated::kMean);

  // An iteration begins: what it computes.
  Work begin(std::int64_t iteration, const CommitState& standing = {});
  // It was computed and the model renewed. May wait for the coordinator's answer.
  Progress finish(const Computed& computed);
  // Whether there is another one.
  bool goes_on() const { return samples_.count > 0; }
  // To the method's service (SampleServerListener), beside requests.
  void note(Payload payload);
  // This worker has done its part; `counts` is what its method's service wants to know of it.
  void leave(std::span<const std::int64_t> counts);

  // Time spent waiting for the coordinator's answers.
  Seconds waited() const { return waited_; }

 private:
  StrategyContext context_;
  const int parts_;      // of a model that is evaluated
  StepSamples samples_;  // of the iteration under way, or to come
  std::int64_t iteration_ = 0;
  double loss_sum_ = 0;  // of the last one
  Seconds waited_ = 0;
};

}  // namespace motley
