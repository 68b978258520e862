#include "record/timeline.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <numeric>

#include "base/random.h"

namespace motley {
namespace {

double sum_of(const Timeline& timeline, std::size_t row) {
  const auto amounts = timeline.row(row);
  return std::accumulate(amounts.begin(), amounts.end(), 0.0);
}

RC_GTEST_PROP(Timeline, LosesNothingHoweverLongItGetsAndHoweverItIsAdded, ()) {
  Random random(*rc::gen::arbitrary<std::uint32_t>(), 1);
  const std::size_t bins = 2 * *rc::gen::inRange<std::size_t>(1, 40);
  Timeline timeline(3, bins);
  std::vector<double> added(3, 0);
  Seconds last = 0;
  for (int i = *rc::gen::inRange(1, 200); i > 0; --i) {
    const auto row = static_cast<std::size_t>(random.below(3));
    const Seconds begin = 100 * random.uniform() * random.uniform();
    const Seconds end = random.below(4) == 0 ? begin : begin + random.uniform();
    const double amount = 1 + random.uniform();
    timeline.add(row, begin, end, amount);
    added[row] += amount;
    last = std::max(last, end);
  }
  for (std::size_t row = 0; row < 3; ++row) {
    RC_ASSERT(std::abs(sum_of(timeline, row) - added[row]) < 1e-9);
  }
  RC_ASSERT(timeline.used() <= bins);
  RC_ASSERT(static_cast<double>(timeline.used()) * timeline.width() >= last * (1 - 1e-12));
  RC_ASSERT(static_cast<double>(timeline.used() - 1) * timeline.width() <= last);
}

RC_GTEST_PROP(Timeline, LosesNothingWhenItIsReshaped, ()) {
  Random random(*rc::gen::arbitrary<std::uint32_t>(), 3);
  Timeline timeline(2, 64);
  std::vector<double> added(40, 0);
  std::size_t rows = 2;
  std::size_t bins = 64;
  Seconds last = 0;
  for (int i = *rc::gen::inRange(1, 200); i > 0; --i) {
    if (random.below(20) == 0 && rows < 20) {
      rows *= 2;
      bins = std::max<std::size_t>(bins / 2, 4);
      timeline.reshape(rows, bins);
    }
    const auto row = static_cast<std::size_t>(random.below(rows));
    const Seconds begin = 100 * random.uniform() * random.uniform();
    timeline.add(row, begin, begin + 1, 2);
    added[row] += 2;
    last = std::max(last, begin + 1);
  }
  RC_ASSERT(timeline.rows() == rows);
  for (std::size_t row = 0; row < rows; ++row) {
    RC_ASSERT(std::abs(sum_of(timeline, row) - added[row]) < 1e-9);
  }
  RC_ASSERT(timeline.used() <= bins);
  RC_ASSERT(static_cast<double>(timeline.used()) * timeline.width() >= last * (1 - 1e-12));
}

// A worker that is always doing something fills every bin with exactly its width.
RC_GTEST_PROP(Timeline, SpansWithoutAGapFillTheBins, ()) {
  Random random(*rc::gen::arbitrary<std::uint32_t>(), 2);
  Timeline timeline(2, 16);
  Seconds now = 0;
  std::vector<double> spent(2, 0);
  for (int i = *rc::gen::inRange(1, 300); i > 0; --i) {
    const auto row = static_cast<std::size_t>(random.below(2));
    const Seconds length = random.uniform() * (random.below(10) == 0 ? 10 : 0.1);
    timeline.add(row, now, now + length, length);
    now += length;
    spent[row] += length;
  }
  for (std::size_t row = 0; row < 2; ++row) {
    RC_ASSERT(std::abs(sum_of(timeline, row) - spent[row]) < 1e-9 * now);
  }
  for (std::size_t bin = 0; bin + 1 < timeline.used(); ++bin) {
    const double filled = timeline.row(0)[bin] + timeline.row(1)[bin];
    RC_ASSERT(std::abs(filled - timeline.width()) < 1e-9 * now);
  }
}

TEST(Timeline, SpreadsEvenly) {
  Timeline timeline(1, 4);
  timeline.add(0, 0, 4 - 1e-9, 8);  // widths are powers of two
  ASSERT_EQ(timeline.width(), 1);
  for (const double amount : timeline.row(0)) {
    EXPECT_NEAR(amount, 2, 1e-6);
  }
  timeline.add(0, 2.5, 3);
  EXPECT_NEAR(timeline.row(0)[2], 5, 1e-6);
  timeline.add(0, 7, 1);
  EXPECT_EQ(timeline.width(), 2);
  EXPECT_NEAR(timeline.row(0)[0], 4, 1e-6);
  EXPECT_NEAR(timeline.row(0)[1], 7, 1e-6);
  EXPECT_NEAR(timeline.row(0)[3], 1, 1e-6);
}

}  // namespace
}  // namespace motley
