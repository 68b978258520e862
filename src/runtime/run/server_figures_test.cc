#include "runtime/run/server_figures.h"

#include <gtest/gtest.h>

namespace motley {
namespace {

TEST(ServerFigures, NumbersBecomeRowsByServer) {
  const std::vector<Figures> of_each = {
      {{"extra", std::int64_t{3}}, {"share", 0.5}, {"rule", "the first's"}, {"mixed", 1.0}},
      {{"extra", std::int64_t{4}}, {"share", 0.25}, {"rule", "another"}, {"mixed", "text"}}};
  const Figures merged = figures_of_servers(of_each);
  ASSERT_EQ(merged.size(), 4U);
  EXPECT_EQ(merged[0].value, FigureValue(std::vector<std::int64_t>{3, 4}));
  EXPECT_EQ(merged[1].value, FigureValue(std::vector<double>{0.5, 0.25}));
  EXPECT_EQ(merged[2].value, FigureValue("the first's"));
  EXPECT_EQ(merged[3].value, FigureValue(1.0));
}

TEST(ServerFigures, AreEmptyWithoutServersOrWithoutFigures) {
  EXPECT_TRUE(figures_of_servers({}).empty());
  EXPECT_TRUE(figures_of_servers(std::vector<Figures>(3)).empty());
}

}  // namespace
}  // namespace motley
