#include "runtime/rendezvous/places.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>

namespace motley::places_test {
namespace {

using Kind = Placing::Kind;

constexpr Rank kNoLimit = std::numeric_limits<Rank>::max();

Peer host() { return {.version = "0.1.0", .rank = 0, .host = "a", .pid = 70}; }
Peer a_peer(std::optional<Rank> rank, std::int64_t pid) {
  return {.version = "0.1.0", .rank = rank, .host = "b", .pid = pid};
}

// The number that the peer gets and takes; nullopt if none.
std::optional<Rank> come(Places& places, const Peer& peer, const std::string& attempt = "") {
  const Placing place = places.place_for(peer, attempt);
  if (place.kind != Kind::kGiven) {
    return std::nullopt;
  }
  places.take(place.process, peer, attempt);
  return place.process;
}

// A run of four: the host, two workers, a server.
Places full_run() {
  Places places(host(), 0, 4, 3);
  for (Rank rank = 1; rank < 4; ++rank) {
    EXPECT_EQ(come(places, a_peer(rank, 100 + rank)), rank);
  }
  places.let_late_in();
  return places;
}

std::vector<Rank> numbers_of(const std::vector<Newcomer>& newcomers) {
  std::vector<Rank> numbers;
  for (const Newcomer& newcomer : newcomers) {
    numbers.push_back(newcomer.process);
  }
  return numbers;
}

TEST(Places, ThoseOfTheBeginningAreNoNewcomers) {
  Places places = full_run();
  EXPECT_TRUE(places.missing().empty());
  EXPECT_TRUE(places.take_newcomers().empty());
}

TEST(Places, BeforeLateOnesAreLetInForgettingChangesNothing) {
  Places places(host(), 0, 2, 2);
  EXPECT_EQ(come(places, a_peer(1, 101)), 1);
  places.forget(1);
  EXPECT_EQ(places.place_for(a_peer(1, 200), "").kind, Kind::kRefused);
  EXPECT_EQ(places.place_for(a_peer(std::nullopt, 200), "").kind, Kind::kRefused);
  places.let_late_in();
  EXPECT_EQ(come(places, a_peer(1, 200)), 2);
}

TEST(Places, APeerWithoutARankGetsAFreshNumber) {
  Places places = full_run();
  EXPECT_EQ(come(places, a_peer(std::nullopt, 200)), 4);
  EXPECT_EQ(come(places, a_peer(std::nullopt, 201)), 5);
  EXPECT_EQ(places.peer(5).value().pid, 201);
  EXPECT_EQ(numbers_of(places.take_newcomers()), (std::vector<Rank>{4, 5}));
  EXPECT_TRUE(places.take_newcomers().empty());
}

TEST(Places, ARestartedProcessWaitsUntilItsPredecessorIsForgotten) {
  Places places = full_run();
  EXPECT_EQ(places.place_for(a_peer(2, 200), "").kind, Kind::kLater);
  EXPECT_EQ(places.place_for(a_peer(2, 102), "").kind, Kind::kLater);  // the same process
  places.forget(2);
  EXPECT_EQ(come(places, a_peer(2, 200)), 4);
  const auto newcomers = places.take_newcomers();
  EXPECT_EQ(newcomers.at(0).process, 4);
  EXPECT_EQ(newcomers.at(0).peer.rank, 2);
  EXPECT_EQ(places.peer(2).value().pid, 102);
  // Its successor in turn.
  EXPECT_EQ(places.place_for(a_peer(2, 201), "").kind, Kind::kLater);
  places.forget(2);  // no news
  EXPECT_EQ(places.place_for(a_peer(2, 201), "").kind, Kind::kLater);
  places.forget(4);
  EXPECT_EQ(come(places, a_peer(2, 201)), 5);
}

// It was frozen, and comes back as it is.
TEST(Places, TheSameProcessMayComeBackOnceItIsForgotten) {
  Places places = full_run();
  places.forget(1);
  EXPECT_EQ(come(places, a_peer(1, 101), "again"), 4);
}

TEST(Places, AServerComesBackInTheSameWay) {
  Places places = full_run();
  EXPECT_EQ(places.place_for(a_peer(3, 200), "").kind, Kind::kLater);
  places.forget(3);
  EXPECT_EQ(come(places, a_peer(3, 200)), 4);
  EXPECT_EQ(places.take_newcomers().at(0).peer.rank, 3);
}

TEST(Places, TheHostIsNeverReplaced) {
  Places places = full_run();
  places.forget(0);
  EXPECT_EQ(places.place_for(a_peer(0, 200), "").why,
            "rank 0 joined twice: first pid 70 on a, now pid 200 on b");
  EXPECT_EQ(come(places, host()), 0);
  EXPECT_TRUE(places.take_newcomers().empty());
}

TEST(Places, APlaceIsGivenOnce) {
  Places places = full_run();
  const Rank place = places.add_place();
  EXPECT_EQ(place, 4);
  EXPECT_EQ(come(places, a_peer(std::nullopt, 200)), 5);
  EXPECT_EQ(come(places, a_peer(place, 201), "v"), place);
  EXPECT_EQ(come(places, a_peer(place, 201), "v"), place);
  EXPECT_EQ(places.place_for(a_peer(place, 202), "").why,
            "rank 4 joined twice: first pid 201 on b, now pid 202 on b");
  EXPECT_EQ(numbers_of(places.take_newcomers()), (std::vector<Rank>{5, 4}));
  places.forget(place);
  EXPECT_EQ(places.place_for(a_peer(place, 202), "").kind, Kind::kRefused);
}

TEST(Places, APlaceThatNobodyTookIsWithdrawn) {
  Places places = full_run();
  const Rank place = places.add_place();
  places.forget(place);
  EXPECT_EQ(places.place_for(a_peer(place, 201), "").kind, Kind::kRefused);
  EXPECT_EQ(places.add_place(), place + 1);
}

TEST(Places, OtherRanksAreRefused) {
  Places places = full_run();
  EXPECT_EQ(places.place_for(a_peer(7, 200), "").why,
            "rank 7 (pid 200 on b) is not part of this run, which has ranks 0 to 3");
  EXPECT_EQ(places.place_for(a_peer(-1, 200), "").kind, Kind::kRefused);
  // A number is not a place, whoever has it.
  EXPECT_EQ(come(places, a_peer(std::nullopt, 200)), 4);
  EXPECT_EQ(places.place_for(a_peer(4, 201), "").kind, Kind::kRefused);
  // A process of this run waits for the session's next run, which may have more servers.
  EXPECT_EQ(places.place_for(a_peer(7, 102), "").kind, Kind::kLater);
  places.forget(2);
  EXPECT_EQ(places.place_for(a_peer(7, 102), "").kind, Kind::kRefused);
}

TEST(Places, ARepetitionGetsTheSameNumber) {
  Places places(host(), 0, 2, 2);
  EXPECT_EQ(come(places, a_peer(std::nullopt, 101), "first"), 1);
  places.let_late_in();
  EXPECT_EQ(come(places, a_peer(std::nullopt, 101), "first"), 1);
  EXPECT_EQ(come(places, a_peer(std::nullopt, 200), "v"), 2);
  EXPECT_EQ(come(places, a_peer(std::nullopt, 200), "v"), 2);
  EXPECT_EQ(places.take_newcomers().size(), 1U);
  places.forget(2);  // too late: the run goes on without process 2
  EXPECT_EQ(come(places, a_peer(std::nullopt, 200), "v"), 3);
}

TEST(Places, WhatWasComparedIsNotKept) {
  Places places = full_run();
  Peer peer = a_peer(std::nullopt, 200);
  peer.job = "[train]";
  peer.parameters = "fc1 2x3";
  EXPECT_EQ(come(places, peer), 4);
  EXPECT_EQ(places.peer(4).value().job, "");
  EXPECT_EQ(places.take_newcomers().at(0).peer.parameters, "");
}

// A run of which a plain model knows who is there: for each number that is in use, the rank that
// its process stands for.
struct Model {
  std::map<Rank, std::optional<Rank>> there;
  std::set<Rank> promised;
  std::set<Rank> used;
  std::vector<Rank> newcomers;

  bool is_held(Rank rank) const {
    return std::ranges::any_of(there, [&](const auto& item) { return item.second == rank; });
  }
};

constexpr int kRanks = 5;

void come_as_modelled(Places& places, Model& model, const Peer& peer) {
  const std::string attempt = std::to_string(peer.pid);
  const Placing place = places.place_for(peer, attempt);
  const bool is_of_run = peer.rank && *peer.rank >= 0 && *peer.rank < kRanks;
  const bool is_promised = peer.rank && model.promised.contains(*peer.rank);
  if (peer.rank == 0) {
    RC_ASSERT(place.kind == Kind::kRefused);
  } else if (is_of_run && model.is_held(*peer.rank)) {
    RC_ASSERT(place.kind == Kind::kLater);
  } else if (!peer.rank || is_of_run || is_promised) {
    RC_ASSERT(place.kind == Kind::kGiven);
    RC_ASSERT(place.process >= kRanks);
    const bool is_new = model.used.insert(place.process).second;
    RC_ASSERT(is_new != is_promised);
    RC_ASSERT(!is_promised || place.process == *peer.rank);
    model.promised.erase(place.process);
    model.there[place.process] = is_of_run ? peer.rank : std::nullopt;
    model.newcomers.push_back(place.process);
    places.take(place.process, peer, attempt);
    RC_ASSERT(places.place_for(peer, attempt).process == place.process);
  } else {
    RC_ASSERT(place.kind == Kind::kRefused);
  }
}

void forget_as_modelled(Places& places, Model& model, Rank process) {
  places.forget(process);
  model.promised.erase(process);
  if (process != 0) {
    model.there.erase(process);
  }
}

// Whatever happens, in whatever order: each number is used once, each rank has one process at most,
// and whoever asks for a rank that is free gets in.
RC_GTEST_PROP(Places, ANumberIsUsedOnceAndARankHasOneProcess, ()) {
  Places places(host(), 0, kRanks, kNoLimit);
  Model model;
  for (Rank rank = 0; rank < kRanks; ++rank) {
    model.there[rank] = rank;
    model.used.insert(rank);
    RC_ASSERT(rank == 0 || come(places, a_peer(rank, 100 + rank)) == rank);
  }
  places.let_late_in();
  const int steps = *rc::gen::inRange(0, 60);
  for (int step = 0; step < steps; ++step) {
    const auto any_number = rc::gen::inRange<Rank>(-1, kRanks + 15);
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
        come_as_modelled(places, model, a_peer(std::nullopt, 1000 + step));
        break;
      case 1:
        come_as_modelled(places, model, a_peer(*any_number, 1000 + step));
        break;
      case 2:
        forget_as_modelled(places, model, *any_number);
        break;
      default: {
        const Rank place = places.add_place();
        RC_ASSERT(model.used.insert(place).second);
        model.promised.insert(place);
      }
    }
  }
  RC_ASSERT(numbers_of(places.take_newcomers()) == model.newcomers);
}

}  // namespace
}  // namespace motley::places_test
