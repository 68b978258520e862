#include "api/own_order.h"

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>

namespace motley {
namespace {

using Order = std::vector<SampleIndex>;

// Backwards, and in odd epochs forwards. Counts how often it is asked.
struct Turning {
  Order operator()(std::int64_t epoch) {
    ++asked;
    Order order(5);
    std::iota(order.begin(), order.end(), SampleIndex{0});
    if (epoch % 2 == 0) {
      std::ranges::reverse(order);
    }
    return order;
  }
  int asked = 0;
};

TEST(OwnOrder, IsThatOfTheProgramEpochByEpoch) {
  Turning turning;
  OwnOrder order(std::ref(turning), 5, 5);
  EXPECT_EQ(order.samples_at(Order{0, 1, 4}), (Order{4, 3, 0}));
  EXPECT_EQ(order.samples_at(Order{4, 5, 6}), (Order{0, 0, 1}));
  EXPECT_EQ(order.samples_at(Order{9, 10}), (Order{4, 4}));
  EXPECT_EQ(turning.asked, 3);
}

// Two samples of each epoch are left out.
TEST(OwnOrder, UsesTheFirstSamplesOfEachEpoch) {
  OwnOrder order(Turning(), 5, 3);
  EXPECT_EQ(order.samples_at(Order{0, 1, 2, 3, 4, 5}), (Order{4, 3, 2, 0, 1, 2}));
}

TEST(OwnOrder, AForecastDoesNotAskTheProgram) {
  Turning turning;
  OwnOrder order(std::ref(turning), 5, 5);
  EXPECT_FALSE(order.known_samples_at(Order{0}));
  order.samples_at(Order{0});
  EXPECT_EQ(order.known_samples_at(Order{1, 2}), (Order{3, 2}));
  EXPECT_FALSE(order.known_samples_at(Order{4, 5}));
  EXPECT_EQ(turning.asked, 1);
}

TEST(OwnOrder, RefusesWhatIsNoOrderOfTheDataSet) {
  OwnOrder too_short([](std::int64_t) { return Order{0, 1}; }, 5, 5);
  EXPECT_THROW(too_short.samples_at(Order{0}), std::invalid_argument);
  OwnOrder too_far([](std::int64_t) { return Order{0, 1, 5}; }, 3, 3);
  EXPECT_THROW(too_far.samples_at(Order{0}), std::invalid_argument);
}

}  // namespace
}  // namespace motley
