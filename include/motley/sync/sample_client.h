// SampleClient: gets a worker's samples (dealt_samples.h) with messages of its own.
//
//   worker                          coordinator (sample_server.h)
//     request: k begins, what next? ->
//     ... computes k ...            <- Grant: the samples of the next iteration, or none
//     farewell: what it counted     ->
//
// A worker asks one iteration ahead, when it begins to compute: the answer is there when it is
// needed, unless the way to the coordinator and back takes longer than an iteration.
//
// Cost per iteration: a request and an answer of about 100 bytes each.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "motley/sync/dealt_samples.h"
#include "motley/sync/strategy.h"

namespace motley {

// What a worker says, in the tag of a header.
enum class SampleMessage : std::int64_t { kRequest, kNote, kFarewell };

// Where a worker stands when it begins an iteration.
struct CommitState {
  std::int64_t commits = 0;    // that it has made, where a method has such
  Seconds commit_seconds = 0;  // that the last of them took
  bool fit = true;             // its model after this iteration is one to evaluate
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

// A worker's side.
class SampleClient {
 public:
  explicit SampleClient(const StrategyContext& context, Evaluated evaluated = Evaluated::kMean);

  // An iteration begins: what it computes.
  Work begin(std::int64_t iteration, const CommitState& state = {});
  // It was computed and the model renewed. May wait for the coordinator's answer.
  Progress finish(const Computed& computed);
  // Whether there is another one.
  bool goes_on() const { return samples_.goes_on(); }
  // To the method's service (SampleServerListener), beside requests.
  void note(Payload payload);
  // This worker has done its part; `counts` is what its method's service wants to know of it.
  void leave(std::span<const std::int64_t> counts);

  // Time spent waiting for the coordinator's answers.
  Seconds waited() const { return waited_; }

 private:
  StrategyContext context_;
  DealtSamples samples_;
  std::int64_t iteration_ = 0;
  double loss_sum_ = 0;  // of the last one
  Seconds waited_ = 0;
};

}  // namespace motley
