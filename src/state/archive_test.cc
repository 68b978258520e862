#include "motley/state/archive.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

#include "state/state.h"

namespace motley {
namespace {

enum class Colour : std::uint8_t { kRed, kBlue };

struct Inner {
  std::int64_t count = 0;
  std::vector<double> times;
  void state(Archive& archive) {
    archive("count", count);
    archive("times", times);
  }
  friend bool operator==(const Inner&, const Inner&) = default;
};

struct Outer {
  bool flag = false;
  double number = 0;
  std::size_t size = 0;
  std::string text;
  Colour colour = Colour::kRed;
  std::vector<bool> bits;
  std::vector<int> ranks;
  std::optional<double> maybe;
  std::optional<Inner> inner;
  std::vector<Inner> more;
  std::vector<float> residual;
  std::vector<std::byte> raw;
  void state(Archive& archive) {
    archive("flag", flag);
    archive("number", number);
    archive("size", size);
    archive("text", text);
    archive("colour", colour);
    archive("bits", bits);
    archive("ranks", ranks);
    archive("maybe", maybe);
    archive("inner", inner);
    archive("more", more);
    archive.tensor("residual", residual);
    archive.bytes("raw", raw);
  }
  friend bool operator==(const Outer&, const Outer&) = default;
};

Outer example() {
  return {.flag = true,
          .number = 0.1,
          .size = 7,
          .text = "a \"b\"",
          .colour = Colour::kBlue,
          .bits = {true, false},
          .ranks = {3, -1},
          .maybe = 1e-300,
          .inner = Inner{2, {0.3}},
          .more = {{1, {}}, {5, {1.5, 2.5}}},
          .residual = {1.5F, -0.25F},
          .raw = {std::byte{9}}};
}

TEST(Archive, RestoresWhatWasSaved) {
  Outer saved = example();
  Outer restored;
  restore(restored, state_of(saved));
  EXPECT_EQ(restored, saved);
}

TEST(Archive, TensorsAreNamedByTheirPlace) {
  Outer saved = example();
  const State state = state_of(saved);
  EXPECT_EQ(state.tensors.count("residual"), 1U);
  State whole;
  whole.put("workers", [&] {
    State workers;
    workers.put("0", state);
    return workers;
  }());
  EXPECT_EQ(whole.tensors.count("workers.0.residual"), 1U);
  EXPECT_EQ(whole.part("workers").part("0"), state);
}

TEST(Archive, AMissingValueAndAWrongTypeAreNamed) {
  Outer saved = example();
  State state = state_of(saved);
  state.values["inner"]["value"].erase("count");
  Outer restored;
  try {
    restore(restored, state);
    FAIL();
  } catch (const StateError& error) {
    EXPECT_STREQ(error.what(), "inner.value.count is missing");
  }
  state = state_of(saved);
  state.values["number"] = "much";
  EXPECT_THROW(restore(restored, state), StateError);
}

TEST(Archive, ASizeThatIsTooLargeIsRefused) {
  Outer saved = example();
  State state = state_of(saved);
  state.values["more"]["size"] = 1'000'000'000'000;
  Outer restored;
  EXPECT_THROW(restore(restored, state), StateError);
}

struct Shaped {
  std::vector<float> floats = {1, 2, 3, 4, 5, 6};
  std::vector<double> doubles = {0.1, 0.2};
  std::vector<std::int64_t> counts = {7};
  std::vector<std::uint8_t> flags = {1, 0};
  std::vector<std::int64_t> shape = {2, 3};

  void state(Archive& archive) {
    archive.tensor("floats", std::span(floats), shape);
    archive.tensor("doubles", std::span(doubles), std::vector<std::int64_t>{2});
    archive.tensor("counts", std::span(counts), {});
    archive.tensor("flags", std::span(flags), std::vector<std::int64_t>{1, 2});
  }
};

TEST(Archive, TensorsHaveTypesAndShapes) {
  Shaped saved;
  const State state = state_of(saved);
  EXPECT_EQ(state.tensors.at("floats").shape, saved.shape);
  EXPECT_EQ(state.tensors.at("counts").shape, std::vector<std::int64_t>()) << "a single number";
  EXPECT_EQ(state.tensors.at("doubles").type, ElementType::kFloat64);
  Shaped restored{
      .floats = std::vector<float>(6), .doubles = {0, 0}, .counts = {0}, .flags = {9, 9}};
  restore(restored, state);
  EXPECT_EQ(restored.floats, saved.floats);
  EXPECT_EQ(restored.doubles, saved.doubles);
  EXPECT_EQ(restored.counts, saved.counts);
  EXPECT_EQ(restored.flags, saved.flags);
}

TEST(Archive, AnotherShapeOrTypeOfATensorIsRefused) {
  Shaped saved;
  State state = state_of(saved);
  Shaped turned{.shape = {3, 2}};
  try {
    restore(turned, state);
    FAIL();
  } catch (const StateError& error) {
    EXPECT_STREQ(error.what(), "the tensor floats has the shape [2, 3]; expected [3, 2]");
  }
  state.tensors["counts"].type = ElementType::kFloat64;
  EXPECT_THROW(restore(saved, state), StateError);
}

RC_GTEST_PROP(Archive, DoublesKeepTheirBitsThroughText, (double number)) {
  struct One {
    double value;
    void state(Archive& archive) { archive("value", value); }
  };
  for (const double each : {number, std::numeric_limits<double>::infinity(), -0.0}) {
    One saved{each};
    State state = state_of(saved);
    state.values = nlohmann::json::parse(state.values.dump());
    One restored{1};
    restore(restored, state);
    RC_ASSERT(restored.value == each && std::signbit(restored.value) == std::signbit(each));
  }
}

TEST(Archive, NanIsRestored) {
  struct One {
    double value;
    void state(Archive& archive) { archive("value", value); }
  };
  One saved{std::nan("")};
  One restored{1};
  restore(restored, state_of(saved));
  EXPECT_TRUE(std::isnan(restored.value));
}

}  // namespace
}  // namespace motley
