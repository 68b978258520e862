#include "runtime/run/mean_state.h"

#include <gtest/gtest.h>

#include <cstring>

namespace motley::mean_state_test {
namespace {

// A replica at its own pace, with a schedule of its learning rate.
State replica(std::int64_t steps, double rate, float weight, const std::string& generator) {
  State state;
  state.values = {{"position", {{"steps", steps}, {"epochs", steps / 10}}},
                  {"settings", {{"lr", rate}, {"nesterov", false}}}};
  StateTensor& tensor = state.tensors["weight"];
  tensor.shape = {1};
  tensor.bytes.resize(sizeof weight);
  std::memcpy(tensor.bytes.data(), &weight, sizeof weight);
  StateTensor& bytes = state.tensors["generator"];
  bytes.type = ElementType::kUint8;
  bytes.shape = {static_cast<std::int64_t>(generator.size())};
  for (const char each : generator) {
    bytes.bytes.push_back(static_cast<std::byte>(each));
  }
  return state;
}

float weight_of(const State& state) {
  float weight = 0;
  std::memcpy(&weight, state.tensors.at("weight").bytes.data(), sizeof weight);
  return weight;
}

TEST(MeanState, AScheduleIsThatOfTheFurthest) {
  const State mean =
      mean_of({replica(9, 0.1, 1, "a"), replica(21, 0.025, 3, "b"), replica(11, 0.05, 5, "c")});
  EXPECT_EQ(mean.values["settings"]["lr"], 0.025);
  EXPECT_EQ(mean.values["position"]["steps"], 21);
  EXPECT_EQ(mean.values["position"]["epochs"], 2);
  EXPECT_EQ(weight_of(mean), 3);
  EXPECT_EQ(mean.tensors.at("generator").bytes,
            replica(0, 0, 0, "a").tensors.at("generator").bytes);
}

TEST(MeanState, OfEqualOnesIsTheSame) {
  const State one = replica(7, 0.3, 0.1F, "x");
  EXPECT_TRUE(mean_of({one, one, one}) == one);
}

TEST(MeanState, WhatOnlySomeHaveCounts) {
  State with = replica(1, 0.1, 1, "a");
  with.values["more"] = 0.5;
  EXPECT_EQ(mean_of({with, replica(2, 0.2, 1, "a")}).values["more"], 0.5);
}

TEST(MeanState, SizesMustAgree) {
  State other = replica(1, 0.1, 1, "a");
  other.tensors["weight"].bytes.resize(8);
  EXPECT_THROW(mean_of({replica(1, 0.1, 1, "a"), other}), StateError);
}

}  // namespace
}  // namespace motley::mean_state_test
