#include "motley/sync/parameter_server/held_versions.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "state/state.h"

namespace motley {
namespace {

using Pieces = std::vector<HeldVersions::Piece>;

TEST(HeldVersions, AreInPieces) {
  HeldVersions held(10, 0);
  held.set(4, 3, 7);
  EXPECT_EQ(held.pieces(), (Pieces{{4, 0}, {7, 7}, {10, 0}}));
  held.set(0, 5, 7);
  EXPECT_EQ(held.pieces(), (Pieces{{7, 7}, {10, 0}}));
  held.set(0, 10, 8);
  EXPECT_EQ(held.pieces(), (Pieces{{10, 8}}));
}

// However servers are cut meanwhile.
RC_GTEST_PROP(HeldVersions, AreThoseOfTheLastAnswer, ()) {
  constexpr std::size_t kSize = 12;
  HeldVersions held(kSize, 0);
  std::vector<std::int64_t> expected(kSize, 0);
  const int answers = *rc::gen::inRange(0, 20);
  for (int i = 0; i < answers; ++i) {
    const auto begin = *rc::gen::inRange<std::size_t>(0, kSize);
    const auto count = *rc::gen::inRange<std::size_t>(0, kSize - begin + 1);
    const auto version = *rc::gen::inRange<std::int64_t>(-1, 5);
    held.set(begin, count, version);
    std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(begin), count, version);
  }
  std::vector<std::int64_t> numbers;
  for (const HeldVersions::Piece& piece : held.pieces()) {
    RC_ASSERT(piece.end > numbers.size());
    numbers.resize(piece.end, piece.version);
  }
  RC_ASSERT(numbers == expected);
  HeldVersions back;
  restore(back, state_of(held));
  RC_ASSERT(back.pieces() == held.pieces());
}

TEST(HeldVersions, DamagedOnesAreRefused) {
  HeldVersions held(10, 0);
  held.set(4, 3, 7);
  State state = state_of(held);
  state.values["ends"] = {7, 4, 10};
  EXPECT_THROW(restore(held, state), StateError);
  state.values["ends"] = {4, 10};
  EXPECT_THROW(restore(held, state), StateError);
}

}  // namespace
}  // namespace motley
