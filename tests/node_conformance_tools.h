// What the cases of NodeConformance send each other, and how they wait.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/random.h"
#include "motley/node/node.h"

namespace motley::conformance {

constexpr Channel channel(int n) { return method_channel(static_cast<std::uint16_t>(n)); }

// For the subject of a case, for signalling progress, and one that nobody sends on.
constexpr Channel kData = channel(0);
constexpr Channel kSignal = channel(1);
constexpr Channel kSilent = channel(2);

// Bytes that depend on `seed` and on their place, so that a shift or a mix-up is detected.
inline std::vector<std::byte> pattern(std::size_t size, std::uint64_t seed) {
  std::vector<std::byte> bytes(size);
  std::uint64_t word = seed * 0x9e3779b97f4a7c15ULL + 1;
  for (std::size_t at = 0; at < size; at += sizeof word) {
    word = word * 6364136223846793005ULL + 1442695040888963407ULL;
    std::memcpy(&bytes[at], &word, std::min(sizeof word, size - at));
  }
  return bytes;
}

inline bool has_pattern(const Payload& payload, std::size_t size, std::uint64_t seed) {
  const auto bytes = payload.bytes();
  const auto expected = pattern(size, seed);
  return std::equal(bytes.begin(), bytes.end(), expected.begin(), expected.end());
}

// Most messages are small, some are empty; a few are large.
inline std::size_t mixed_size(Random& random) {
  switch (random.below(256)) {
    case 0:
      return 3 << 20;
    case 1:
    case 2:
    case 3:
      return random.below(256 << 10);
    default:
      return random.below(300);
  }
}

// The peer of the Interrupted that `call` throws. Fails the test if it throws nothing.
template <class Call>
Rank interrupted_by(Call call) {
  try {
    call();
  } catch (const Interrupted& e) {
    return e.peer();
  }
  ADD_FAILURE() << "nothing was thrown";
  return kAnyRank;
}

// Waits until this node knows that `peer` is lost.
inline void await_loss(Node& node, Rank peer) {
  EXPECT_EQ(interrupted_by([&] { node.receive({kSilent, peer}); }), peer);
}

inline void wait_to_be_killed(Node& node) { node.receive({kSilent, node.rank()}); }

}  // namespace motley::conformance
