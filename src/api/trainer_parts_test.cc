// The parts of a trainer that need no run: counts, what finish() is told, the position.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "api/counts.h"
#include "api/share_result.h"
#include "api/trainer_position.h"
#include "motley/base/failure.h"
#include "state/state.h"

namespace motley {
namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

TEST(Counts, AddUpByName) {
  Counts counts({"seen", "right"});
  counts.add("right", 2);
  counts.add("right", 0.5);
  EXPECT_EQ(counts.take(), (std::vector<double>{0, 2.5}));
  EXPECT_EQ(counts.take(), (std::vector<double>{0, 0}));
  EXPECT_THROW(counts.add("wrong", 1), std::invalid_argument);
  counts.add_to_totals({4, 3});
  counts.add_to_totals({4, 3});
  EXPECT_EQ(counts.totals(), (std::map<std::string, double>{{"seen", 8}, {"right", 6}}));
  counts.set_totals({});  // not told yet
  EXPECT_EQ(counts.totals().at("seen"), 8);
}

TEST(Counts, TotalsAreFoundByName) {
  Counts before({"seen", "gone"});
  before.add_to_totals({7, 8});
  Counts after({"new", "seen"});
  restore(after, state_of(before));
  EXPECT_EQ(after.totals(), (std::map<std::string, double>{{"new", 0}, {"seen", 7}}));
}

TEST(Counts, NamesMustDiffer) {
  EXPECT_THROW(Counts({"a", "a"}), Refused);
  EXPECT_THROW(Counts({""}), Refused);
  EXPECT_THROW(Counts({"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m"}), Refused);
}

TEST(ShareResult, PartsAddUp) {
  ShareResult result;
  EXPECT_EQ(result.add(0.5, {}, 4, Reduction::kMean), 4);
  EXPECT_EQ(result.add(1, {}, 2, Reduction::kMean), 2);
  EXPECT_EQ(result.take().loss_sum, 4);
  EXPECT_EQ(result.add(3, {}, 4, Reduction::kSum), 1);
  EXPECT_EQ(result.add(4, {}, 4, Reduction::kMeanOfSum), 1);
  const StepResult sum = result.take();
  EXPECT_EQ(sum.loss_sum, 7);
  EXPECT_EQ(sum.weight, std::nullopt);
}

TEST(ShareResult, WeightsAddUpAndNothingHasNone) {
  ShareResult result;
  EXPECT_EQ(result.add(0.5, {.weight = 3}, 4, Reduction::kMean), 3);
  EXPECT_EQ(result.add(kUndefined, {.weight = 0}, 4, Reduction::kMean), 0);
  const StepResult sum = result.take();
  EXPECT_EQ(sum.loss_sum, 1.5);
  EXPECT_EQ(sum.weight, 3);
}

TEST(ShareResult, RefusesWeightsThatMakeNoSense) {
  ShareResult result;
  EXPECT_THROW(result.add(1, {.weight = -1}, 4, Reduction::kMean), std::logic_error);
  EXPECT_THROW(result.add(1, {.weight = kUndefined}, 4, Reduction::kMean), std::logic_error);
  EXPECT_THROW(result.add(1, {.weight = 1}, 4, Reduction::kSum), std::logic_error);
  result.add(1, {.weight = 1}, 4, Reduction::kMean);
  EXPECT_THROW(result.add(1, {}, 4, Reduction::kMean), std::logic_error);
}

// 100 samples in batches of 64 are two batches.
TEST(TrainerPosition, CountsBatchesLikeAPlainLoop) {
  const TrainerPosition position(100);
  std::int64_t samples = 0;
  for (std::int64_t batch = 1; batch <= 10; ++batch) {
    samples += batch % 2 == 1 ? 64 : 36;
    const Standing standing = position.standing_after(samples, 64);
    EXPECT_EQ(standing.batches, batch);
    EXPECT_EQ(standing.epochs, batch / 2);
    EXPECT_EQ(standing.steps, samples / 64);
    EXPECT_EQ(standing.samples, samples);
  }
}

TEST(TrainerPosition, KeepsTheLossIfItIsKnown) {
  for (const double loss : {0.25, kUndefined}) {
    TrainerPosition before(100);
    before.set_loss(loss);
    TrainerPosition after(100);
    restore(after, state_of(before));
    EXPECT_EQ(std::isnan(after.standing(10).loss), std::isnan(loss));
    EXPECT_TRUE(std::isnan(loss) || after.standing(10).loss == loss);
  }
}

}  // namespace
}  // namespace motley
