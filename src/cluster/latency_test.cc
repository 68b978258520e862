#include "motley/cluster/latency.h"

#include <gtest/gtest.h>

namespace motley {
namespace {

constexpr Rank kServer = 3;  // the first rank after three workers

TEST(Latency, ANumberIsThatOfEveryMessage) {
  const Latency latency = 0.5;
  for (const Rank from : {kCoordinator, 0, 2, kServer, 65'536}) {
    EXPECT_EQ(latency.between(from, 1), 0.5);
    EXPECT_EQ(latency.between(1, from), 0.5);
  }
}

TEST(Latency, OfTwoWorkersTheLargerCounts) {
  const Latency latency = Latency::per_worker({1, 3, 2});
  EXPECT_EQ(latency.between(0, 1), 3);
  EXPECT_EQ(latency.between(1, 0), 3);
  EXPECT_EQ(latency.between(0, 2), 2);
  EXPECT_EQ(latency.between(0, kServer), 1);
  EXPECT_EQ(latency.between(kCoordinator, 2), 2);
  EXPECT_EQ(latency.between(kServer, kCoordinator), 0);
}

TEST(Latency, AMatrixHasARowForEverySender) {
  const Latency latency = Latency::matrix(3, {0, 1, 2,  //
                                              3, 0, 4,  //
                                              5, 6, 0});
  EXPECT_EQ(latency.between(0, 1), 1);
  EXPECT_EQ(latency.between(1, 0), 3);
  EXPECT_EQ(latency.between(2, 1), 6);
  EXPECT_EQ(latency.between(0, kServer), 2) << "the largest of its row";
  EXPECT_EQ(latency.between(kServer, 0), 5) << "the largest of its column";
  EXPECT_EQ(latency.between(1, kCoordinator), 4);
  EXPECT_EQ(latency.between(kServer, kCoordinator), 0);
}

TEST(Latency, AChangeIsOfOneWorkersLink) {
  Latency number = 1;
  number.change(1, 3, 5);
  EXPECT_EQ(number, Latency::per_worker({1, 5, 1}));
  number.change(1, 3, 0.5);
  EXPECT_EQ(number.between(0, 1), 1);
  EXPECT_EQ(number.between(1, kServer), 0.5);

  Latency matrix = Latency::matrix(3, {0, 1, 2, 3, 0, 4, 5, 6, 0});
  matrix.change(2, 3, 1.5);
  EXPECT_EQ(matrix, Latency::matrix(3, {0, 1, 1.5, 3, 0, 1.5, 1.5, 1.5, 1.5}));
  EXPECT_EQ(matrix.between(0, kServer), 1.5);
}

}  // namespace
}  // namespace motley
