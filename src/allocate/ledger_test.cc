#include "motley/allocate/ledger.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>

#include "allocate/shares.h"
#include "motley/allocate/dispenser.h"

namespace motley {
namespace {

// All samples of a run in the order of use; calls `check` with each step.
template <class Check>
std::vector<SampleIndex> run(Ledger& ledger, Check check) {
  std::vector<SampleIndex> used;
  for (;;) {
    const StepSamples step = ledger.step_after(static_cast<std::int64_t>(used.size()));
    if (step.count == 0) {
      return used;
    }
    check(step);
    const auto samples = ledger.samples(step);
    used.insert(used.end(), samples.begin(), samples.end());
  }
}

std::vector<SampleIndex> run(const LedgerOptions& options) {
  Ledger ledger(options);
  return run(ledger, [](const StepSamples&) {});
}

std::vector<std::int64_t> counts(const LedgerOptions& options) {
  Ledger ledger(options);
  std::vector<std::int64_t> result;
  run(ledger, [&](const StepSamples& step) { result.push_back(step.count); });
  return result;
}

RC_GTEST_PROP(Ledger, UsesEverySampleOnceAnEpoch, ()) {
  const auto dataset = *rc::gen::inRange<std::int64_t>(1, 200);
  const auto batch = *rc::gen::inRange<std::int64_t>(1, 300);
  const auto limit = *rc::gen::inRange<std::int64_t>(0, 4 * dataset);
  Ledger ledger({.dataset = dataset, .batch = batch, .limit = limit, .seed = 5});
  const auto used = run(ledger, [&](const StepSamples& step) {
    RC_ASSERT(step.count <= batch);
    RC_ASSERT(step.begin + step.count <= dataset);
  });
  RC_ASSERT(static_cast<std::int64_t>(used.size()) == limit);
  for (std::size_t begin = 0; begin < used.size(); begin += static_cast<std::size_t>(dataset)) {
    const auto epoch_size = std::min(static_cast<std::size_t>(dataset), used.size() - begin);
    const auto first = used.begin() + static_cast<std::ptrdiff_t>(begin);
    std::vector<SampleIndex> epoch(first, first + static_cast<std::ptrdiff_t>(epoch_size));
    std::ranges::sort(epoch);
    RC_ASSERT(std::ranges::adjacent_find(epoch) == epoch.end());
    RC_ASSERT(epoch.back() < static_cast<SampleIndex>(dataset));
  }
}

TEST(Ledger, TheLastStepOfAnEpochIsShort) {
  EXPECT_EQ(counts({.dataset = 10, .batch = 4, .limit = 20, .seed = 1}),
            (std::vector<std::int64_t>{4, 4, 2, 4, 4, 2}));
  EXPECT_EQ(counts({.dataset = 3, .batch = 4, .limit = 6, .seed = 1}),
            (std::vector<std::int64_t>{3, 3}));
}

TEST(Ledger, ALimitEndsTheRunInTheMiddleOfAnEpoch) {
  EXPECT_EQ(counts({.dataset = 10, .batch = 4, .limit = 15, .seed = 1}),
            (std::vector<std::int64_t>{4, 4, 2, 4, 1}));
  const Ledger ledger({.dataset = 10, .batch = 4, .limit = 15, .seed = 1});
  EXPECT_EQ(ledger.step_after(15).count, 0);
  EXPECT_EQ(ledger.step_after(100).count, 0);
}

TEST(Ledger, TheOrderDependsOnTheSeedOnly) {
  const auto order = run({.dataset = 50, .batch = 7, .limit = 100, .seed = 1});
  EXPECT_EQ(run({.dataset = 50, .batch = 7, .limit = 100, .seed = 1}), order);
  EXPECT_EQ(run({.dataset = 50, .batch = 20, .limit = 100, .seed = 1}), order)
      << "the size of steps does not matter";
  EXPECT_NE(run({.dataset = 50, .batch = 7, .limit = 100, .seed = 2}), order);
}

TEST(Ledger, EpochsHaveOrdersOfTheirOwn) {
  const auto used = run({.dataset = 50, .batch = 50, .limit = 100, .seed = 1});
  EXPECT_FALSE(std::equal(used.begin(), used.begin() + 50, used.begin() + 50));
}

TEST(Ledger, AnEarlierEpochCanBeAskedForAgain) {
  Ledger ledger({.dataset = 10, .batch = 5, .limit = 100, .seed = 1});
  const StepSamples step = ledger.step_after(0);
  const auto first = ledger.samples(step);
  const std::vector<SampleIndex> before(first.begin(), first.end());
  ledger.samples(ledger.step_after(40));
  EXPECT_TRUE(std::ranges::equal(ledger.samples(step), before));
}

// An array of that many would not fit anywhere.
TEST(Ledger, AnyDataSetTakesTheMemoryOfAStep) {
  constexpr std::int64_t kTrillions = 4'000'000'000'000'000'000;
  Ledger ledger({.dataset = kTrillions, .batch = 8, .limit = kTrillions, .seed = 1});
  for (const std::int64_t used : {std::int64_t{0}, kTrillions / 2, kTrillions - 5}) {
    const StepSamples step = ledger.step_after(used);
    const auto samples = ledger.samples(step);
    EXPECT_EQ(samples.size(),
              static_cast<std::size_t>(std::min(kTrillions - used, ledger.options().batch)));
    EXPECT_LT(std::ranges::max(samples), static_cast<SampleIndex>(kTrillions));
    EXPECT_GT(std::ranges::max(samples), SampleIndex{1} << 32) << "indices have 64 bits";
  }
}

// Whatever the shares and however they change from step to step.
RC_GTEST_PROP(Ledger, SharesOfAnEpochHaveEverySampleOnce, ()) {
  const auto dataset = *rc::gen::inRange<std::int64_t>(1, 500);
  const auto workers = *rc::gen::inRange<std::size_t>(1, 12);
  const LedgerOptions options{.dataset = dataset,
                              .batch = *rc::gen::inRange<std::int64_t>(1, 100),
                              .limit = dataset,
                              .seed = *rc::gen::arbitrary<std::uint64_t>()};
  std::vector<Ledger> ledgers(workers, Ledger(options));
  std::vector<int> seen(static_cast<std::size_t>(dataset));
  for (std::int64_t used = 0; used < dataset;) {
    const StepSamples step = ledgers[0].step_after(used);
    const auto weights = *rc::gen::container<std::vector<double>>(
        workers, rc::gen::map(rc::gen::inRange(1, 100), [](int weight) { return weight * 0.1; }));
    const Shares shares = integer_shares(static_cast<std::size_t>(step.count), weights);
    for (std::size_t rank = 0; rank < workers; ++rank) {
      for (const SampleIndex sample :
           ledgers[rank].samples(share_of(step, shares, static_cast<Rank>(rank)))) {
        ++seen[sample];
      }
    }
    used += step.count;
  }
  RC_ASSERT(std::ranges::all_of(seen, [](int count) { return count == 1; }));
}

TEST(SampleLimit, IsTheSmallerOfTheLimitsGiven) {
  EXPECT_EQ(sample_limit(100, 8, 2, 0), 200);
  EXPECT_EQ(sample_limit(100, 8, 0, 5), 40);
  EXPECT_EQ(sample_limit(100, 8, 2, 5), 40);
  EXPECT_EQ(sample_limit(100, 8, 2, 50), 200);
  EXPECT_EQ(sample_limit(100, 8, 0, 0), std::numeric_limits<std::int64_t>::max());
}

RC_GTEST_PROP(ShareOf, DealsOutEverySampleOnce, ()) {
  const auto weights = *rc::gen::container<std::vector<double>>(
      *rc::gen::inRange<std::size_t>(1, 20),
      rc::gen::map(rc::gen::inRange(1, 100), [](int weight) { return weight * 0.1; }));
  const StepSamples step{3, *rc::gen::inRange<std::int64_t>(0, 50),
                         *rc::gen::inRange<std::int64_t>(0, 200)};
  const Shares shares = integer_shares(static_cast<std::size_t>(step.count), weights);
  std::int64_t next = step.begin;
  for (Rank rank = 0; rank < static_cast<Rank>(shares.size()); ++rank) {
    const StepSamples part = share_of(step, shares, rank);
    RC_ASSERT(part.epoch == step.epoch);
    RC_ASSERT(part.begin == next);
    next += part.count;
  }
  RC_ASSERT(next == step.begin + step.count);
}

// A range of the run has the same samples, however many epochs it spans.
RC_GTEST_PROP(Ledger, APieceOfTheRowMaySpanEpochs, ()) {
  const LedgerOptions options{
      .dataset = *rc::gen::inRange<std::int64_t>(1, 30), .batch = 7, .limit = 200, .seed = 3};
  const auto row = run(options);
  const auto used = *rc::gen::inRange<std::int64_t>(0, 200);
  const auto want = *rc::gen::inRange<std::int64_t>(0, 100);
  Ledger ledger(options);
  const auto piece = ledger.samples(samples_after(options, used, want));
  RC_ASSERT(piece.size() == static_cast<std::size_t>(std::min(want, 200 - used)));
  RC_ASSERT(std::ranges::equal(
      piece, std::span(row).subspan(static_cast<std::size_t>(used), piece.size())));
}

// Whatever is asked for: the samples of the run in order, and no more than its limit.
RC_GTEST_PROP(Dispenser, DealsEverySampleOnce, ()) {
  const LedgerOptions options{.dataset = *rc::gen::inRange<std::int64_t>(1, 100),
                              .batch = 10,
                              .limit = *rc::gen::inRange<std::int64_t>(0, 300),
                              .seed = 1};
  const std::int64_t dealt = *rc::gen::inRange<std::int64_t>(0, options.limit + 1);
  const std::int64_t closed_at = *rc::gen::inRange<std::int64_t>(0, 400);
  Dispenser dispenser(options, dealt);
  std::int64_t row = dealt;
  for (;;) {
    const auto want = *rc::gen::inRange<std::int64_t>(1, 50);
    if (row >= closed_at) {
      dispenser.close();
    }
    const StepSamples samples = dispenser.next(want);
    if (samples.count == 0) {
      break;
    }
    RC_ASSERT(row < closed_at);
    RC_ASSERT(samples.epoch * options.dataset + samples.begin == row);
    RC_ASSERT(samples.begin < options.dataset);
    RC_ASSERT(samples.count == std::min(want, options.limit - row));
    row += samples.count;
  }
  RC_ASSERT(row == options.limit || row >= closed_at);
}

// Each epoch has the same samples in every order that is not random; with whole batches only, each
// has as many.
RC_GTEST_PROP(Ledger, EveryOrderUsesEachSampleAtMostOnceAnEpoch, ()) {
  const auto dataset = *rc::gen::inRange<std::int64_t>(20, 200);
  const auto batch = *rc::gen::inRange<std::int64_t>(1, 20);
  const auto order = *rc::gen::element(SampleOrder::kShuffled, SampleOrder::kSequential,
                                       SampleOrder::kStreams, SampleOrder::kOwn);
  const bool drop_last = order == SampleOrder::kStreams || *rc::gen::arbitrary<bool>();
  const std::int64_t epoch = epoch_samples(dataset, batch, drop_last);
  RC_ASSERT(epoch == (drop_last ? dataset / batch * batch : dataset));
  Ledger ledger({.dataset = epoch,
                 .batch = batch,
                 .limit = 3 * epoch,
                 .seed = 9,
                 .order = order,
                 .left_out = dataset - epoch});
  const auto used =
      run(ledger, [&](const StepSamples& step) { RC_ASSERT(!drop_last || step.count == batch); });
  for (std::int64_t k = 0; k < 3; ++k) {
    std::vector<SampleIndex> samples(used.begin() + k * epoch, used.begin() + (k + 1) * epoch);
    std::ranges::sort(samples);
    RC_ASSERT(std::ranges::adjacent_find(samples) == samples.end());
    const std::int64_t first = order == SampleOrder::kOwn ? k * epoch : 0;
    RC_ASSERT(samples.front() >= static_cast<SampleIndex>(first));
    RC_ASSERT(samples.back() < static_cast<SampleIndex>(first + dataset));
  }
}

TEST(Ledger, AnOrderIsAsItsNameSays) {
  LedgerOptions options{.dataset = 6, .batch = 2, .limit = 12, .seed = 1};
  using Samples = std::vector<SampleIndex>;
  options.order = SampleOrder::kSequential;
  EXPECT_EQ(run(options), (Samples{0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5}));
  options.order = SampleOrder::kStreams;
  EXPECT_EQ(run(options), (Samples{0, 3, 1, 4, 2, 5, 0, 3, 1, 4, 2, 5}));
  options.order = SampleOrder::kOwn;
  EXPECT_EQ(run(options), (Samples{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
}

// What is left out is random too: over many epochs every sample is used.
TEST(Ledger, OtherSamplesAreLeftOutInEachEpoch) {
  const auto used = run({.dataset = 8, .batch = 4, .limit = 800, .seed = 3, .left_out = 3});
  for (SampleIndex sample = 0; sample < 11; ++sample) {
    EXPECT_GT(std::ranges::count(used, sample), 40) << sample;
  }
}

// Nobody gets fewer samples than `least`, unless there were fewer from the beginning.
RC_GTEST_PROP(Dispenser, AvoidsSmallShares, ()) {
  const auto least = *rc::gen::inRange<std::int64_t>(1, 6);
  const auto limit = *rc::gen::inRange<std::int64_t>(1, 300);
  Dispenser dispenser({.dataset = 1'000, .batch = 10, .limit = limit, .seed = 1}, 0, least);
  std::int64_t dealt = 0;
  for (;;) {
    const auto want = *rc::gen::inRange<std::int64_t>(1, 50);
    const StepSamples samples = dispenser.next(want);
    if (samples.count == 0) {
      break;
    }
    RC_ASSERT(samples.begin == dealt);
    RC_ASSERT(samples.count >= std::min(least, limit));
    RC_ASSERT(samples.count < std::max(want, least) + least);
    dealt += samples.count;
  }
  RC_ASSERT(dealt == limit);
}

}  // namespace
}  // namespace motley
