// ReadAhead: what a worker's loader fetches next, and for which batch. It has no threads: they ask
// for errands, and return them when they are done.
//
//   plan.expect({next step, the step after it});   // a forecast; it may be wrong
//   plan.begin(share);                             // what is computed now: this is certain
//   errand = plan.next();  ...  plan.done(*errand);
//   while (plan.is_ready()) { batch = plan.take(); }
//
// A forecast decides only what is fetched early. The batches are those of begin(), in its order,
// whatever was expected. What was fetched for a forecast that turned out wrong is used for other
// batches: sample by sample where the source fetches samples one by one, otherwise only if a whole
// batch is the same. No fetched sample is used twice: if it comes up in two epochs, it is fetched
// for each of them, because a data set may be random.
#pragma once

#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "motley/loader/batch_source.h"

namespace motley {

enum class FetchBy { kBatch, kSample };

struct ReadAheadOptions {
  FetchBy by = FetchBy::kBatch;
  int threads = 1;  // so many share the samples of a batch
  // In how many batches a share of this size comes, as equal as integers allow. Empty: in one.
  std::function<std::size_t(std::size_t share)> parts = {};
};

// Something that is fetched at once: a sample, or a whole batch.
struct Fetched {
  enum class Progress { kWaiting, kUnderWay, kHere };

  std::vector<SampleIndex> samples;
  Progress progress = Progress::kWaiting;
  Loaded value = {};
  std::exception_ptr error = {};  // instead of a value
};

// One batch.
struct BatchPlan {
  std::vector<SampleIndex> samples;
  std::vector<std::shared_ptr<Fetched>> fetches;
  Fetched batch;  // if samples are fetched one by one: what they are collated to
};

class ReadAhead {
 public:
  explicit ReadAhead(const ReadAheadOptions& options) : options_(options) {}

  // The samples of the steps after the current one, as far as is known. Replaces the last forecast.
  // May come before the current step's begin() or after it.
  void expect(const std::vector<std::vector<SampleIndex>>& steps);
  // The share of the step that begins. What is left of the one before is dropped.
  void begin(std::span<const SampleIndex> share);

  // Something for a thread to do: to fetch samples, or, if there are none, to collate a batch.
  struct Errand {
    std::vector<std::shared_ptr<Fetched>> fetches;
    std::vector<SampleIndex> samples;  // of the fetches
    std::shared_ptr<BatchPlan> batch;
    std::vector<Loaded> parts;  // to collate
  };
  // The most urgent errand, which is then under way; nullopt if there is nothing to do.
  std::optional<Errand> next();
  // What came of it: a value for each fetch, or the batch; or what was thrown.
  void done(const Errand& errand, std::vector<Loaded> values, const std::exception_ptr& error);

  // Batches of the share that were not taken.
  std::size_t left() const { return current_.size(); }
  // Whether the next one is there.
  bool is_ready() const;
  // The next one. Rethrows what fetching or collating it threw.
  Loaded take();

 private:
  using Batches = std::deque<std::shared_ptr<BatchPlan>>;
  using Spare = std::unordered_multimap<SampleIndex, std::shared_ptr<Fetched>>;

  Batches batches_of(std::span<const SampleIndex> share, Batches& old) const;
  void fill(Batches& batches, Spare& spare) const;
  std::optional<Errand> errand_for(const std::shared_ptr<BatchPlan>& batch, bool may_collate) const;
  const Fetched* result_of(const BatchPlan& batch) const;

  const ReadAheadOptions options_;
  Batches current_;             // of the share, without those that were taken
  std::deque<Batches> coming_;  // of the steps after it
  // Expected for the step that begins next. Forecasts come earlier than shares: by now, the others
  // may already be for the steps after that.
  Batches about_to_begin_;
};

}  // namespace motley
