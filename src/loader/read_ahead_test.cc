#include "loader/read_ahead.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <numeric>
#include <set>
#include <stdexcept>

#include "motley/base/micro_batch.h"

namespace motley {
namespace {

using Indices = std::vector<SampleIndex>;

// A sample as it was fetched once, or a batch of such.
struct Fetch {
  int number = 0;
  SampleIndex sample = 0;
};
using FetchedBatch = std::vector<Fetch>;

Indices range(SampleIndex begin, SampleIndex end) {
  Indices all(end - begin);
  std::iota(all.begin(), all.end(), begin);
  return all;
}

// The threads of a loader, one errand after the other, and a data set that counts what it fetches.
class Fetcher {
 public:
  explicit Fetcher(const ReadAheadOptions& options) : options_(options), plan(options) {}

  // Takes on an errand, if there is one.
  bool start() {
    auto errand = plan.next();
    if (errand) {
      under_way_.push_back(std::move(*errand));
    }
    return errand.has_value();
  }
  // One that was taken on is done.
  bool finish(std::size_t which) {
    if (under_way_.empty()) {
      return false;
    }
    const auto at = under_way_.begin() + static_cast<std::ptrdiff_t>(which % under_way_.size());
    const ReadAhead::Errand errand = std::move(*at);
    under_way_.erase(at);
    plan.done(errand, values_of(errand), nullptr);
    return true;
  }
  void finish_everything() {
    while (start() || finish(0)) {
    }
  }
  FetchedBatch take() {
    while (!plan.is_ready()) {
      EXPECT_TRUE(start() || finish(0)) << "nobody fetches the batch";
    }
    return *std::static_pointer_cast<FetchedBatch>(plan.take());
  }

 private:
  std::vector<Loaded> values_of(const ReadAhead::Errand& errand) {
    if (errand.batch) {
      auto batch = std::make_shared<FetchedBatch>();
      for (const Loaded& part : errand.parts) {
        batch->push_back(std::static_pointer_cast<FetchedBatch>(part)->front());
      }
      return {batch};
    }
    std::vector<Loaded> values;
    for (const SampleIndex sample : errand.samples) {
      if (values.empty() || options_.by == FetchBy::kSample) {
        values.push_back(std::make_shared<FetchedBatch>());
      }
      ++fetched[sample];
      std::static_pointer_cast<FetchedBatch>(values.back())->push_back({number_++, sample});
    }
    return values;
  }

  const ReadAheadOptions options_;
  int number_ = 0;
  std::vector<ReadAhead::Errand> under_way_;

 public:
  std::map<SampleIndex, int> fetched;
  ReadAhead plan;
};

Indices samples_of(const FetchedBatch& batch) {
  Indices samples;
  for (const Fetch& each : batch) {
    samples.push_back(each.sample);
  }
  return samples;
}

std::function<std::size_t(std::size_t)> at_most(std::size_t most) {
  return [most](std::size_t share) { return part_count(share, most); };
}

ReadAheadOptions any_options(std::size_t most) {
  return {.by = *rc::gen::element(FetchBy::kBatch, FetchBy::kSample),
          .threads = *rc::gen::inRange(1, 5),
          .parts = at_most(most)};
}

// Whatever is forecast, right, wrong, late or never, and in whichever order the threads get ready:
// the batches are those that were dealt, and no sample that was fetched is used twice.
RC_GTEST_PROP(ReadAhead, WhatIsDealtIsDeliveredOnceWhateverIsForecast, ()) {
  const auto most = *rc::gen::element<std::size_t>(1, 3, 8, kWholeShare);
  const ReadAheadOptions options = any_options(most);
  const auto dataset = *rc::gen::inRange<SampleIndex>(1, 40);
  const auto any_share = [&] {
    const auto begin = *rc::gen::inRange<SampleIndex>(0, dataset);
    const auto end = *rc::gen::inRange<SampleIndex>(begin, dataset + 1);
    return range(begin, end);
  };
  Fetcher fetcher(options);
  std::set<int> used;
  Indices next = any_share();
  for (int steps = *rc::gen::inRange(1, 12); steps > 0; --steps) {
    const Indices share = std::exchange(next, any_share());
    const auto forecast = [&] {
      std::vector<Indices> coming;
      for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
        coming.push_back(*rc::gen::arbitrary<bool>() ? any_share() : next);
      }
      fetcher.plan.expect(coming);
    };
    const auto work = [&] {
      for (int i = *rc::gen::inRange(0, 10); i > 0; --i) {
        *rc::gen::arbitrary<bool>() ? fetcher.start()
                                    : fetcher.finish(*rc::gen::inRange<std::size_t>(0, 9));
      }
    };
    const int early = *rc::gen::inRange(0, 3);  // forecasts before the step is known
    for (int i = 0; i < early; ++i) {
      forecast();
      work();
    }
    fetcher.plan.begin(share);
    work();
    if (*rc::gen::arbitrary<bool>()) {
      forecast();
    }
    Indices delivered;
    const bool is_cut_off = *rc::gen::inRange(0, 8) == 0;
    while (fetcher.plan.left() > (is_cut_off ? 1U : 0U)) {
      const FetchedBatch batch = fetcher.take();
      RC_ASSERT(!batch.empty() && batch.size() <= most);
      for (const Fetch& each : batch) {
        RC_ASSERT(used.insert(each.number).second);
        delivered.push_back(each.sample);
      }
      work();
    }
    RC_ASSERT(std::ranges::equal(delivered, std::span(share).first(delivered.size())));
    RC_ASSERT(is_cut_off || delivered == share);
  }
}

// A worker's share of steps of 100 samples changes all the time; the forecast is always that it
// stays. Samples that it had fetched and is dealt in another batch are not fetched again, unless
// they were collated; whole batches are.
RC_GTEST_PROP(ReadAhead, AChangeOfSharesCostsTheSamplesThatDiffer, ()) {
  Fetcher fetcher({.by = FetchBy::kSample, .threads = 2});
  const int ahead = *rc::gen::inRange(1, 4);
  SampleIndex begin = 0;
  SampleIndex end = 50;
  std::int64_t may_waste = 0;  // what was fetched for a forecast, and not dealt
  std::int64_t dealt = 0;
  for (SampleIndex step = 0; step < 8; ++step) {
    const auto share_at = [&](SampleIndex k) { return range(100 * k + begin, 100 * k + end); };
    if (step > 0 && *rc::gen::arbitrary<bool>()) {
      may_waste += (ahead + 1) * static_cast<std::int64_t>(end - begin);
      begin = *rc::gen::inRange<SampleIndex>(0, 50);
      end = *rc::gen::inRange<SampleIndex>(50, 101);
      const Indices now = share_at(step);
      for (SampleIndex k = step + 1; k <= step + static_cast<SampleIndex>(ahead); ++k) {
        for (const SampleIndex sample : share_at(k)) {
          may_waste -= fetcher.fetched.contains(sample) ? 1 : 0;  // it can be kept
        }
      }
    }
    std::vector<Indices> coming;
    for (SampleIndex k = step + 1; k <= step + static_cast<SampleIndex>(ahead); ++k) {
      coming.push_back(share_at(k));
    }
    fetcher.plan.expect(coming);
    fetcher.plan.begin(share_at(step));
    RC_ASSERT(samples_of(fetcher.take()) == share_at(step));
    dealt += static_cast<std::int64_t>(end - begin);
    fetcher.finish_everything();
  }
  std::int64_t fetches = 0;
  for (const auto& [sample, times] : fetcher.fetched) {
    fetches += times;
  }
  RC_ASSERT(fetches <= dealt + may_waste + ahead * static_cast<std::int64_t>(end - begin));
}

// A forecast that comes true costs nothing: every sample is fetched once.
TEST(ReadAhead, WhatComesTrueIsFetchedOnce) {
  for (const FetchBy by : {FetchBy::kBatch, FetchBy::kSample}) {
    Fetcher fetcher({.by = by, .threads = 2, .parts = at_most(3)});
    for (SampleIndex step = 0; step < 5; ++step) {
      const auto share_at = [](SampleIndex k) { return range(10 * k, 10 * k + 7); };
      fetcher.plan.expect({share_at(step + 1), share_at(step + 2)});
      fetcher.plan.begin(share_at(step));
      for (const std::size_t size : {3, 2, 2}) {
        EXPECT_EQ(fetcher.take().size(), size);
      }
      fetcher.finish_everything();
    }
    EXPECT_EQ(fetcher.fetched.size(), 7U * 7U);
    for (const auto& [sample, times] : fetcher.fetched) {
      EXPECT_EQ(times, 1) << sample;
    }
  }
}

// At a worker's own pace the next share becomes known while it computes, or later.
TEST(ReadAhead, TheForecastOfOneStepIsForTheNextOne) {
  for (const bool early : {true, false}) {
    Fetcher fetcher({.by = FetchBy::kBatch});
    fetcher.plan.begin(range(0, 4));
    fetcher.plan.expect({range(4, 8)});
    fetcher.take();
    fetcher.finish_everything();
    if (early) {
      fetcher.plan.expect({range(8, 12)});
    }
    fetcher.plan.begin(range(4, 8));
    EXPECT_TRUE(fetcher.plan.is_ready()) << early;
  }
}

// Of 40 samples that were expected for the next step but one, the new share has 30.
TEST(ReadAhead, SamplesGoOverToTheNewShare) {
  Fetcher fetcher({.by = FetchBy::kSample, .threads = 2});
  fetcher.plan.expect({range(100, 140), range(200, 240)});
  fetcher.plan.begin(range(0, 40));
  fetcher.finish_everything();
  EXPECT_EQ(fetcher.fetched.size(), 120U);
  fetcher.plan.expect({range(210, 260)});
  fetcher.plan.begin(range(100, 140));
  fetcher.finish_everything();
  EXPECT_EQ(fetcher.fetched.size(), 140U);
  fetcher.plan.begin(range(210, 260));
  EXPECT_EQ(samples_of(fetcher.take()), range(210, 260));
  EXPECT_EQ(fetcher.fetched.size(), 140U);
}

TEST(ReadAhead, AnErrorBelongsToItsBatch) {
  ReadAhead plan({.by = FetchBy::kBatch, .parts = at_most(2)});
  plan.begin(range(0, 4));
  const auto first = plan.next();
  const auto second = plan.next();
  plan.done(*second, {}, std::make_exception_ptr(std::runtime_error("sample 3 is damaged")));
  EXPECT_FALSE(plan.is_ready());
  plan.done(*first, {std::make_shared<int>(1)}, nullptr);
  EXPECT_NE(plan.take(), nullptr);
  EXPECT_THROW(plan.take(), std::runtime_error);
}

// It is fetched again if it is dealt after all: perhaps it was a matter of the moment.
TEST(ReadAhead, AnErrorOfAForecastIsForgotten) {
  ReadAhead plan({.by = FetchBy::kSample, .threads = 2});
  plan.expect({range(0, 4)});
  const auto errand = plan.next();
  plan.done(*errand, {}, std::make_exception_ptr(std::runtime_error("gone")));
  plan.expect({});
  plan.begin(range(1, 3));
  const auto again = plan.next();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->samples, range(1, 2));
}

}  // namespace
}  // namespace motley
