#include "runtime/run/state_stream.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace motley {
namespace {

StateTensor tensor(ElementType type, std::vector<std::int64_t> shape, std::size_t bytes) {
  StateTensor made{type, std::move(shape), std::vector<std::byte>(bytes)};
  for (std::size_t i = 0; i < bytes; ++i) {
    made.bytes[i] = static_cast<std::byte>(i * 7);
  }
  return made;
}

State sample_state(std::size_t floats) {
  State state;
  state.values = {{"a", 1}, {"b", {{"c", 0.1}, {"d", "text"}}}, {"e", {1.5, -2.0}}};
  state.tensors["large"] =
      tensor(ElementType::kFloat32, {static_cast<std::int64_t>(floats)}, 4 * floats);
  state.tensors["empty"] = tensor(ElementType::kFloat32, {0, 3}, 0);
  state.tensors["scalar"] = tensor(ElementType::kInt64, {}, 8);
  state.tensors["zero"] = tensor(ElementType::kUint8, {0}, 0);
  return state;
}

std::vector<std::vector<std::byte>> chunks_of(const State& state) {
  OutgoingState out(std::make_shared<State>(state));
  std::vector<std::vector<std::byte>> chunks;
  while (auto chunk = out.next()) {
    chunks.push_back(std::move(*chunk));
  }
  return chunks;
}

TEST(StateStream, AStateComesBackWhateverItsSize) {
  for (const std::size_t floats : {1U, 3U, 1U << 18, (1U << 19) + 1, 3U << 18}) {
    const State state = sample_state(floats);
    IncomingState in;
    for (const auto& chunk : chunks_of(state)) {
      EXPECT_LE(chunk.size(), kStateChunk);
      EXPECT_FALSE(in.complete());
      ASSERT_TRUE(in.add(chunk));
    }
    ASSERT_TRUE(in.complete());
    EXPECT_EQ(in.take(), state);
  }
}

TEST(StateStream, AnEmptyStateComesBack) {
  IncomingState in;
  for (const auto& chunk : chunks_of({})) {
    ASSERT_TRUE(in.add(chunk));
  }
  ASSERT_TRUE(in.complete());
  EXPECT_TRUE(in.take().empty());
}

TEST(StateStream, ChunksMayBeCutAnywhere) {
  const State state = sample_state(100);
  Random random(1);
  for (int round = 0; round < 200; ++round) {
    IncomingState in;
    for (const auto& chunk : chunks_of(state)) {
      std::span<const std::byte> rest(chunk);
      while (!rest.empty()) {
        const std::size_t size = std::min<std::size_t>(1 + random.below(50), rest.size());
        ASSERT_TRUE(in.add(rest.first(size)));
        rest = rest.subspan(size);
      }
    }
    ASSERT_TRUE(in.complete());
    EXPECT_EQ(in.take(), state);
  }
}

TEST(StateStream, MoreThanTheStateIsRefused) {
  IncomingState in;
  for (auto chunk : chunks_of(sample_state(10))) {
    chunk.push_back(std::byte{0});
    EXPECT_FALSE(in.add(chunk));
  }
  IncomingState whole;
  for (const auto& chunk : chunks_of(sample_state(10))) {
    ASSERT_TRUE(whole.add(chunk));
  }
  EXPECT_FALSE(whole.add(std::vector<std::byte>(1)));
  EXPECT_FALSE(IncomingState().add({}));
}

// A damaged stream is refused, stays incomplete, or gives another state: never more.
TEST(StateStream, DamageIsHarmless) {
  const State state = sample_state(10);
  const auto chunks = chunks_of(state);
  ASSERT_EQ(chunks.size(), 1U);
  Random random(2);
  for (int round = 0; round < 20000; ++round) {
    auto chunk = chunks.front();
    for (std::uint64_t flips = 1 + random.below(3); flips > 0; --flips) {
      chunk[random.below(chunk.size())] ^= static_cast<std::byte>(1 << random.below(8));
    }
    chunk.resize(chunk.size() - random.below(2) * random.below(chunk.size()));
    IncomingState in;
    if (in.add(chunk) && in.complete()) {
      std::size_t bytes = 0;
      for (const auto& [name, each] : in.take().tensors) {
        bytes += each.bytes.size();
      }
      EXPECT_LE(bytes, chunk.size());
    }
  }
}

}  // namespace
}  // namespace motley
