#include "runtime/coordinator/cut_links.h"

#include <gtest/gtest.h>

namespace motley {
namespace {

constexpr Seconds kProof = 20;

TEST(CutLinks, APairConnectsAnewOnceThenOneGoes) {
  CutLinks links(kProof);
  links.hear(5, 2, "broken pipe", 10);
  links.hear(2, 5, "reset", 10.1);
  EXPECT_FALSE(links.verdict(10.4)) << "perhaps one of them is dead, which is known soon";
  const auto first = links.verdict(10.5);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->one, 2);
  EXPECT_EQ(first->other, 5);
  EXPECT_EQ(first->why, "broken pipe");
  EXPECT_FALSE(first->goes);
  EXPECT_FALSE(links.verdict(11)) << "both reports are of one connection";
  links.hear(5, 2, "again", 15);
  EXPECT_TRUE(links.verdict(16)->goes);
}

TEST(CutLinks, AConnectionThatHeldForLongMayConnectAnewAgain) {
  CutLinks links(kProof);
  links.hear(1, 2, "cut", 0);
  EXPECT_FALSE(links.verdict(1)->goes);
  links.hear(1, 2, "cut", 1 + kProof);
  EXPECT_FALSE(links.verdict(2 + kProof)->goes);
}

TEST(CutLinks, WhoIsGoneHasNoConnections) {
  CutLinks links(kProof);
  links.hear(1, 2, "cut", 0);
  links.hear(3, 1, "cut", 0);
  links.hear(3, 4, "cut", 0);
  links.forget(1);
  const auto only = links.verdict(1);
  ASSERT_TRUE(only);
  EXPECT_EQ(only->one, 3);
  EXPECT_FALSE(links.verdict(1));
}

}  // namespace
}  // namespace motley
