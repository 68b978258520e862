#include "runtime/coordinator/cut_links.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

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

TEST(WhoGoes, WhoDoesNotReachTheMost) {
  EXPECT_EQ(who_goes({{0, 2}}, {}, {}), std::vector<Rank>{2});
  EXPECT_EQ(who_goes({{0, 1}, {0, 2}, {0, 3}}, {}, {}), std::vector<Rank>{0});
  EXPECT_EQ(who_goes({{0, 1}, {0, 2}}, {}, 0), (std::vector<Rank>{2, 1})) << "0 cannot go";
  EXPECT_EQ(who_goes({{0, 4}}, {4}, {}), std::vector<Rank>{0}) << "4 is a server";
  EXPECT_EQ(who_goes({{0, 4}}, {4}, 0), std::vector<Rank>{4});
  EXPECT_TRUE(who_goes({{0, 0}}, {}, 0).empty());
}

RC_GTEST_PROP(WhoGoes, AllWhoStayReachEachOther, ()) {
  const auto rank = rc::gen::inRange(0, 8);
  auto cut = *rc::gen::container<std::vector<std::pair<Rank, Rank>>>(rc::gen::pair(rank, rank));
  std::erase_if(cut, [](const auto& pair) { return pair.first == pair.second; });
  const auto servers = *rc::gen::container<std::set<Rank>>(rank);
  const Rank host = *rank;
  const auto going = who_goes(cut, servers, host);
  const auto goes = [&](Rank process) { return std::ranges::count(going, process) > 0; };
  RC_ASSERT(!goes(host));
  for (const auto& [one, other] : cut) {
    RC_ASSERT(goes(one) || goes(other));
  }
}

}  // namespace
}  // namespace motley
