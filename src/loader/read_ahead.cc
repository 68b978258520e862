#include "loader/read_ahead.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "motley/base/micro_batch.h"

namespace motley {
namespace {

using Progress = Fetched::Progress;

template <class Batches>
void append(Batches& all, Batches&& more) {
  std::ranges::move(more, std::back_inserter(all));
}

// Whether these samples are among those of the batches, in a row.
template <class Batches>
bool holds(const Batches& batches, std::span<const SampleIndex> share) {
  std::vector<SampleIndex> all;
  for (const auto& batch : batches) {
    all.insert(all.end(), batch->samples.begin(), batch->samples.end());
  }
  return !std::ranges::search(all, share).empty();
}

// The samples that can go to other batches: collating takes them, and what failed is fetched again.
template <class Batches>
auto spare_samples(const Batches& old) {
  std::unordered_multimap<SampleIndex, std::shared_ptr<Fetched>> spare;
  for (const auto& batch : old) {
    for (const auto& fetched : batch->fetches) {
      if (batch->batch.progress == Progress::kWaiting && !fetched->error) {
        spare.emplace(fetched->samples.front(), fetched);
      }
    }
  }
  return spare;
}

std::shared_ptr<Fetched> taken_from(auto& spare, SampleIndex sample) {
  const auto found = spare.find(sample);
  return found != spare.end() ? spare.extract(found).mapped()
                              : std::make_shared<Fetched>(Fetched{.samples = {sample}});
}

}  // namespace

void ReadAhead::expect(const std::vector<std::vector<SampleIndex>>& steps) {
  if (about_to_begin_.empty() && !coming_.empty()) {
    about_to_begin_ = std::move(coming_.front());
    coming_.pop_front();
  }
  Batches old;
  for (Batches& each : std::exchange(coming_, {})) {
    append(old, std::move(each));
  }
  for (const std::vector<SampleIndex>& step : steps) {
    coming_.push_back(batches_of(step, old));
  }
  Spare spare = spare_samples(old);
  for (Batches& step : coming_) {
    fill(step, spare);
  }
}

// The newest forecast begins behind this step, or, if the step is not among those that were
// expected before, with it.
void ReadAhead::begin(std::span<const SampleIndex> share) {
  Batches old = std::exchange(about_to_begin_, {});
  if (!holds(old, share) && !coming_.empty() && holds(coming_.front(), share)) {
    append(old, std::move(coming_.front()));
    coming_.pop_front();
  }
  append(old, std::exchange(current_, {}));
  current_ = batches_of(share, old);
  Spare spare = spare_samples(old);
  fill(current_, spare);
}

// Those that are the same are taken from the old ones; the others are empty.
ReadAhead::Batches ReadAhead::batches_of(std::span<const SampleIndex> share, Batches& old) const {
  Batches batches;
  std::size_t parts = options_.parts ? options_.parts(share.size()) : 1;
  while (!share.empty()) {
    const auto part = first_of_parts(share, parts--);
    const auto same = std::ranges::find_if(
        old, [&](const auto& batch) { return std::ranges::equal(batch->samples, part); });
    if (same != old.end()) {
      batches.push_back(std::move(*same));
      old.erase(same);
    } else {
      batches.push_back(std::make_shared<BatchPlan>());
      batches.back()->samples.assign(part.begin(), part.end());
    }
  }
  return batches;
}

void ReadAhead::fill(Batches& batches, Spare& spare) const {
  for (const auto& batch : batches) {
    if (!batch->fetches.empty()) {
      continue;
    }
    if (options_.by == FetchBy::kBatch) {
      batch->fetches.push_back(std::make_shared<Fetched>(Fetched{.samples = batch->samples}));
      continue;
    }
    for (const SampleIndex sample : batch->samples) {
      batch->fetches.push_back(taken_from(spare, sample));
    }
  }
}

// Only the batches of the next step are collated ahead, because that takes their samples: if the
// shares change, no more than they are fetched twice.
std::optional<ReadAhead::Errand> ReadAhead::next() {
  for (const auto& batch : current_) {
    if (auto errand = errand_for(batch, true)) {
      return errand;
    }
  }
  for (const Batches& step : coming_) {
    for (const auto& batch : step) {
      if (auto errand = errand_for(batch, &step == &coming_.front())) {
        return errand;
      }
    }
  }
  return std::nullopt;
}

// The threads share what is left of a batch: each takes its part of it.
std::optional<ReadAhead::Errand> ReadAhead::errand_for(const std::shared_ptr<BatchPlan>& batch,
                                                       bool may_collate) const {
  Errand errand;
  const auto waiting = std::ranges::count(batch->fetches, Progress::kWaiting, &Fetched::progress);
  const auto part = static_cast<std::size_t>((waiting + options_.threads - 1) / options_.threads);
  for (const auto& fetched : batch->fetches) {
    if (errand.fetches.size() < part && fetched->progress == Progress::kWaiting) {
      fetched->progress = Progress::kUnderWay;
      errand.fetches.push_back(fetched);
      std::ranges::copy(fetched->samples, std::back_inserter(errand.samples));
    }
  }
  if (!errand.fetches.empty()) {
    return errand;
  }
  const bool can_be_collated = may_collate && options_.by == FetchBy::kSample &&
                               batch->batch.progress == Progress::kWaiting &&
                               std::ranges::all_of(batch->fetches, [](const auto& fetched) {
                                 return fetched->value != nullptr;
                               });
  if (!can_be_collated) {
    return std::nullopt;
  }
  batch->batch.progress = Progress::kUnderWay;
  errand.batch = batch;
  for (const auto& fetched : batch->fetches) {
    errand.parts.push_back(std::move(fetched->value));
  }
  return errand;
}

void ReadAhead::done(const Errand& errand, std::vector<Loaded> values,
                     const std::exception_ptr& error) {
  const auto put = [&](Fetched& fetched, std::size_t number) {
    fetched.progress = Progress::kHere;
    fetched.error = error;
    if (!error) {
      fetched.value = std::move(values.at(number));
    }
  };
  for (std::size_t i = 0; i < errand.fetches.size(); ++i) {
    put(*errand.fetches[i], i);
  }
  if (errand.batch) {
    put(errand.batch->batch, 0);
  }
}

// nullptr if it is not there yet.
const Fetched* ReadAhead::result_of(const BatchPlan& batch) const {
  for (const auto& fetched : batch.fetches) {
    if (fetched->error) {
      return fetched.get();
    }
  }
  const Fetched& whole = options_.by == FetchBy::kBatch ? *batch.fetches.front() : batch.batch;
  return whole.progress == Progress::kHere ? &whole : nullptr;
}

bool ReadAhead::is_ready() const {
  return !current_.empty() && result_of(*current_.front()) != nullptr;
}

Loaded ReadAhead::take() {
  MOTLEY_CHECK(is_ready(), "a batch is taken before it is there");
  const auto batch = std::move(current_.front());
  current_.pop_front();
  const Fetched* result = result_of(*batch);
  if (result->error) {
    std::rethrow_exception(result->error);
  }
  return result->value;
}

}  // namespace motley
