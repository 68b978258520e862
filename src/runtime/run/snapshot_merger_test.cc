#include "runtime/run/snapshot_merger.h"

#include <gtest/gtest.h>

namespace motley {
namespace {

SnapshotInfo part(std::int64_t number, int parts, float value, Seconds seconds) {
  SnapshotInfo info;
  info.note = {seconds, static_cast<std::int64_t>(100 * seconds), false, {number, parts}, {}};
  info.snapshot = {{value, 2 * value}, {-value}};
  return info;
}

TEST(SnapshotMerger, OnePartIsTheWhole) {
  SnapshotMerger merger;
  const auto whole = merger.add(part(0, 1, 3, 1));
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->snapshot.parameters, (std::vector<float>{3, 6}));
}

TEST(SnapshotMerger, TheWholeIsTheMeanAtTheTimeOfItsLatestPart) {
  SnapshotMerger merger;
  EXPECT_FALSE(merger.add(part(7, 4, 1, 5)));
  EXPECT_FALSE(merger.add(part(7, 4, 2, 9)));
  EXPECT_FALSE(merger.add(part(7, 4, 3, 6)));
  const auto whole = merger.add(part(7, 4, 6, 4));
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->snapshot.parameters, (std::vector<float>{3, 6}));
  EXPECT_EQ(whole->snapshot.buffers, (std::vector<float>{-3}));
  EXPECT_EQ(whole->note.seconds, 9);
  EXPECT_EQ(whole->note.samples, 900);
}

TEST(SnapshotMerger, PartsOfTwoEvaluationsDoNotMix) {
  SnapshotMerger merger;
  EXPECT_FALSE(merger.add(part(1, 2, 1, 1)));
  EXPECT_FALSE(merger.add(part(2, 2, 10, 2)));
  const auto second = merger.add(part(2, 2, 20, 2));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->snapshot.parameters[0], 15);
  const auto first = merger.add(part(1, 2, 3, 3));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->snapshot.parameters[0], 2);
}

}  // namespace
}  // namespace motley
