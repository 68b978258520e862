#include "motley/base/micro_batch.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace motley {
namespace {

std::vector<std::size_t> sizes_of(std::size_t samples, std::size_t micro_batch) {
  std::vector<int> share(samples);
  std::iota(share.begin(), share.end(), 0);
  std::vector<std::size_t> sizes;
  int next = 0;
  for (std::span<int> rest = share; !rest.empty();) {
    const std::span<int> part = next_part(rest, micro_batch);
    EXPECT_EQ(part.front(), next);
    next += static_cast<int>(part.size());
    sizes.push_back(part.size());
  }
  return sizes;
}

TEST(MicroBatch, PartsAreAsEqualAsIntegersAllow) {
  using Sizes = std::vector<std::size_t>;
  EXPECT_EQ(sizes_of(65, 64), (Sizes{33, 32}));
  EXPECT_EQ(sizes_of(64, 64), (Sizes{64}));
  EXPECT_EQ(sizes_of(11, 4), (Sizes{4, 4, 3}));
  EXPECT_EQ(sizes_of(3, 1), (Sizes{1, 1, 1}));
  EXPECT_EQ(sizes_of(1'000, kWholeShare), (Sizes{1'000}));
  EXPECT_EQ(sizes_of(0, 7), Sizes{});
}

RC_GTEST_PROP(MicroBatch, PartsAddUpAndAreAsManyAsCounted, ()) {
  const auto samples = *rc::gen::inRange<std::size_t>(1, 500);
  const auto micro_batch = *rc::gen::inRange<std::size_t>(1, 600);
  const auto sizes = sizes_of(samples, micro_batch);
  RC_ASSERT(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}) == samples);
  RC_ASSERT(sizes.size() == part_count(samples, micro_batch));
  RC_ASSERT(sizes.size() == (samples + micro_batch - 1) / micro_batch);
  RC_ASSERT(std::ranges::max(sizes) <= micro_batch);
  RC_ASSERT(std::ranges::max(sizes) - std::ranges::min(sizes) <= 1U);
}

RC_GTEST_PROP(MicroBatch, AnyNumberOfPartsIsAsEqualAsIntegersAllow, ()) {
  const auto samples = *rc::gen::inRange<std::size_t>(1, 100);
  const auto parts = *rc::gen::inRange<std::size_t>(1, samples + 1);
  std::vector<int> share(samples);
  std::span<int> rest = share;
  for (std::size_t left = parts; left > 0; --left) {
    const std::size_t size = first_of_parts(rest, left).size();
    RC_ASSERT(size == samples / parts || size == (samples + parts - 1) / parts);
  }
  RC_ASSERT(rest.empty());
}

TEST(MicroBatch, AStepWithoutSamplesIsOnePart) { EXPECT_EQ(part_count(0, 5), 1U); }

}  // namespace
}  // namespace motley
