#include "runtime/run/what_follows.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>
#include <set>

#include "motley/allocate/dispenser.h"

namespace motley {
namespace {

LedgerOptions ledger() { return {.dataset = 100, .batch = 10, .limit = 1'000, .seed = 1}; }

Survivor stands(std::int64_t used) { return {.settled = {.used = used}}; }

TEST(WhatFollows, AStepThatNobodyHasTakenIsDoneAgain) {
  const Dealings none;
  const LedgerOptions options = ledger();
  const Continuation next =
      what_follows({Advance::kTogether, options, {stands(30), std::nullopt, stands(30)}, none});
  EXPECT_EQ(next.used, 30);
  EXPECT_TRUE(next.behind.empty());
  EXPECT_FALSE(next.newest);
  EXPECT_EQ(next.losses.samples_redealt, 10);
  EXPECT_EQ(next.losses.updates_lost, 0);
}

TEST(WhatFollows, AStepThatSomebodyHasTakenCounts) {
  const Dealings none;
  const LedgerOptions options = ledger();
  const Continuation next = what_follows(
      {Advance::kTogether, options, {stands(30), stands(40), std::nullopt, stands(30)}, none});
  EXPECT_EQ(next.used, 40);
  EXPECT_EQ(next.newest, 1);
  EXPECT_EQ(next.behind, (std::vector<Rank>{0, 3}));
}

// Deals samples as workers at random paces ask for them, and cuts the term off.
struct Dealt {
  explicit Dealt(LedgerOptions its_options, int workers) : options(std::move(its_options)) {
    const StepSamples step = Ledger(options).first_step();
    std::vector<StepSamples> first;
    std::int64_t dealt = 0;  // the step may have fewer samples than there are workers
    for (int rank = 0; rank < workers; ++rank) {
      const std::int64_t left = step.count - dealt;
      const bool is_last = rank == workers - 1;
      first.push_back(
          {step.epoch, step.begin + dealt, is_last ? left : std::min<std::int64_t>(left, 1)});
      dealt += first.back().count;
    }
    dealings.begin(first, options);
    held.resize(first.size());
    for (std::size_t rank = 0; rank < first.size(); ++rank) {
      held[rank].push_back(first[rank]);
    }
    done.resize(first.size(), 0);
  }

  void use(std::size_t rank) {
    const StepSamples& grant = held[rank][static_cast<std::size_t>(done[rank]++)];
    for (std::int64_t i = 0; i < grant.count; ++i) {
      used.insert(grant.epoch * options.dataset + grant.begin + i);
    }
  }

  LedgerOptions options;
  Dealings dealings;
  std::vector<std::vector<StepSamples>> held;
  std::vector<std::int64_t> done;  // iterations
  std::set<std::int64_t> used;
};

// What is used, and what the next term begins with, are all samples up to some point, once each.
RC_GTEST_PROP(WhatFollows, NothingIsLostAndNothingIsDealtTwice, ()) {
  LedgerOptions options = ledger();
  options.begin = *rc::gen::inRange(0, 300);
  const auto owes = *rc::gen::arbitrary<bool>();
  if (owes && options.begin > 100) {
    options.owed = {{options.begin - 50, 7}, {options.begin - 20, 13}};
  }
  const auto workers = *rc::gen::inRange<std::size_t>(1, 6);
  Dealt dealt(options, static_cast<int>(workers));
  Dispenser dispenser(options, options.begin + Ledger(options).first_step().count);
  const auto events =
      *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, 60));
  for (const std::size_t event : events) {
    const std::size_t rank = event % workers;
    auto& held = dealt.held[rank];
    const bool may_ask = std::ssize(held) - dealt.done[rank] < 2;
    if (may_ask) {
      held.push_back(dispenser.next(1 + static_cast<std::int64_t>(event / 7)));
      dealt.dealings.deal(static_cast<Rank>(rank), held.back());
    } else {
      dealt.use(rank);
    }
  }
  CutOff cut{Advance::kAtOwnPace, dealt.options, {}, dealt.dealings};
  for (std::size_t rank = 0; rank < workers; ++rank) {
    cut.survivors.push_back(Survivor{.settled = {}, .iterations = dealt.done[rank]});
  }
  const Continuation next = what_follows(cut);
  RC_ASSERT(next.used - options.begin == std::ssize(dealt.used));
  std::set<std::int64_t> all = dealt.used;
  for (const SampleRange& range : next.owed) {
    for (std::int64_t i = 0; i < range.count; ++i) {
      RC_ASSERT(all.insert(range.begin + i).second);
    }
  }
  std::set<std::int64_t> expected;
  for (const SampleRange& range : options.owed) {
    for (std::int64_t i = 0; i < range.count; ++i) {
      expected.insert(range.begin + i);
    }
  }
  const std::int64_t frontier = next.used + count_of(next.owed);
  for (std::int64_t i = options.begin + count_of(options.owed); i < frontier; ++i) {
    expected.insert(i);
  }
  RC_ASSERT(all == expected);
}

TEST(WhatFollows, WhatALostWorkerHadReturnedIsNotDealtAgain) {
  Dealt dealt(ledger(), 2);
  Dispenser dispenser(ledger(), 10);
  for (int i = 0; i < 3; ++i) {
    dealt.dealings.deal(1, dispenser.next(5));
  }
  dealt.dealings.set_unshared(1, 2);
  const LedgerOptions options = ledger();
  const Continuation next =
      what_follows({Advance::kAtOwnPace,
                    options,
                    {Survivor{.settled = {.repeated = 4}, .iterations = 1}, std::nullopt},
                    dealt.dealings});
  EXPECT_EQ(next.losses.samples_redealt, 10);  // the last two grants
  EXPECT_EQ(next.losses.updates_lost, 2);
  EXPECT_EQ(next.losses.samples_repeated, 4);
  EXPECT_EQ(next.used, 15);
  EXPECT_EQ(next.owed, (std::vector<SampleRange>{{15, 10}}));
}

// What a lost worker committed is on servers, and perhaps only there.
TEST(WhatFollows, WithAServerWhatOnlyALostWorkerHadPulledIsLost) {
  const LedgerOptions options = ledger();
  Dealt dealt(options, 3);
  dealt.dealings.set_served(1, 2);
  dealt.dealings.set_served(1, 3);
  CutOff cut{Advance::kAtOwnPace, options, {Survivor{}, std::nullopt, Survivor{}}, dealt.dealings};
  Continuation next = what_follows(cut);
  EXPECT_EQ(next.losses.updates_lost, 0);
  EXPECT_EQ(next.only_served, 5);
  cut.lost_servers = {0};
  EXPECT_EQ(what_follows(cut).losses.updates_lost, 5);
  EXPECT_EQ(what_follows(cut).only_served, 0);

  dealt.dealings.set_served(0, 1);  // it may have pulled before the last commit, not before others
  EXPECT_EQ(what_follows(cut).losses.updates_lost, 3);

  Dealt later(options, 2);  // the server is lost before anybody has pulled
  CutOff second{Advance::kAtOwnPace, options, {Survivor{}, Survivor{}}, later.dealings};
  second.only_served = next.only_served;
  EXPECT_EQ(what_follows(second).only_served, 5);
  second.lost_servers = {0};
  EXPECT_EQ(what_follows(second).losses.updates_lost, 5);
  later.dealings.set_served(1, 1);
  EXPECT_EQ(what_follows(second).losses.updates_lost, 0);
}

TEST(WhatFollows, ALostServerIsNamed) {
  const Dealings none;
  const LedgerOptions options = ledger();
  const Continuation next =
      what_follows({Advance::kTogether, options, {stands(30), stands(30)}, none, {0, 2}});
  EXPECT_EQ(next.used, 30);
  EXPECT_NE(next.reason.find("servers 0, 2 begin anew with an empty sum"), std::string::npos)
      << next.reason;
}

TEST(WhatFollows, ATermThatHadNotBegunIsBegunAgain) {
  LedgerOptions options = ledger();
  options.begin = 50;
  options.owed = {{3, 4}};
  const Dealings none;
  const Continuation next =
      what_follows({Advance::kAtOwnPace, options, {Survivor{}, std::nullopt}, none});
  EXPECT_EQ(next.used, 50);
  EXPECT_EQ(next.owed, options.owed);
}

}  // namespace
}  // namespace motley
