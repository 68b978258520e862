// SampleClient: gets a worker's samples (dealt_samples.h) with messages of its own.
//
//   worker                          coordinator (sample_server.h)
//     request for k + 1             ->
//     ... computes k ...            <- Grant: the samples of iteration k + 1, or none
//     farewell: its counters        ->
//
// A worker requests samples one iteration ahead, when it begins to compute. So the answer is there
// when it is needed, unless a round trip to the coordinator takes longer than an iteration.
//
// Cost per iteration: a request and an answer of about 100 bytes each.
//
// For a replica that reads ahead, an activity of its own receives the answers, while the worker
// computes, and passes them on to the worker.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "motley/sync/dealt_samples.h"
#include "motley/sync/strategy.h"

namespace motley {

// The kinds of message that a worker sends, stored in the header's tag.
enum class SampleMessage : std::int64_t { kRequest, kNote, kFarewell };

// The state of a worker when it begins an iteration.
struct CommitState {
  std::int64_t commits = 0;    // made so far, if the method has commits
  Seconds commit_seconds = 0;  // how long the last one took
  bool eligible = true;        // its model may be evaluated after this iteration
};

// Sent when a worker begins an iteration.
struct SampleRequest {
  std::int64_t iteration = 0;
  std::int64_t samples = 0;  // in this iteration
  std::int64_t want = 0;     // samples wanted for the next iteration
  Seconds at = 0;            // by the worker's clock
  double loss_sum = 0;       // over the samples of the previous iteration; NaN if there is no loss
  std::int64_t commits = 0;
  Seconds commit_seconds = 0;
  std::int64_t eligible = 1;
};

// Sent when a worker has done its part. The payload holds its counters.
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
  explicit SampleClient(const StrategyContext& context,
                        EvaluatedModel evaluated = EvaluatedModel::kMean);

  // Begins an iteration and returns what to compute in it.
  Work begin(std::int64_t iteration, const CommitState& state = {});
  // Call after computing and updating the model. May wait for the coordinator's answer.
  Progress finish(const Computed& computed);
  // True if another iteration follows.
  bool goes_on() const { return samples_.goes_on(); }
  // Sends a message of the method to its service (SampleServerListener).
  void note(Payload payload);
  // Says that this worker has done its part. `counts` are counters for the method's service.
  void leave(std::span<const std::int64_t> counts);

  // Time spent waiting for the coordinator's answers.
  Seconds waited() const { return waited_; }

 private:
  Message receive_answer();

  StrategyContext context_;
  DealtSamples samples_;
  const bool reads_ahead_;
  std::int64_t iteration_ = 0;
  double loss_sum_ = 0;  // of the last iteration
  Seconds waited_ = 0;
};

}  // namespace motley
