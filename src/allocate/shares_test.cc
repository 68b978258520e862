#include "allocate/shares.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>

namespace motley {
namespace {

TEST(EqualShares, GiveTheRestToTheFirstRanks) {
  EXPECT_EQ(equal_shares(10, 4), (std::vector<std::size_t>{3, 3, 2, 2}));
  EXPECT_EQ(equal_shares(2, 4), (std::vector<std::size_t>{1, 1, 0, 0}));
  EXPECT_EQ(equal_shares(0, 2), (std::vector<std::size_t>{0, 0}));
}

RC_GTEST_PROP(EqualShares, AddUpAndDifferByOneAtMost, ()) {
  const auto total = *rc::gen::inRange<std::size_t>(0, 100'000);
  const auto workers = *rc::gen::inRange(1, 500);
  const auto shares = equal_shares(total, workers);
  RC_ASSERT(shares.size() == static_cast<std::size_t>(workers));
  RC_ASSERT(std::accumulate(shares.begin(), shares.end(), std::size_t{0}) == total);
  const auto [least, most] = std::ranges::minmax(shares);
  RC_ASSERT(most - least <= 1);
}

RC_GTEST_PROP(ShareOf, DealsOutEveryItemOnce, (const std::vector<int>& items)) {
  const auto workers = *rc::gen::inRange(1, 20);
  const auto shares = equal_shares(items.size(), workers);
  std::vector<int> dealt;
  for (int rank = 0; rank < workers; ++rank) {
    const auto part = share_of(std::span(items), shares, rank);
    RC_ASSERT(part.size() == shares[static_cast<std::size_t>(rank)]);
    dealt.insert(dealt.end(), part.begin(), part.end());
  }
  RC_ASSERT(dealt == items);
}

}  // namespace
}  // namespace motley
