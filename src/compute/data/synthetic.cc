#include "compute/data/synthetic.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace motley {
namespace {

constexpr std::uint64_t kCenterStream = 0x5e270000;
constexpr std::uint64_t kTrainingStream = 0x5e270001;
constexpr std::uint64_t kTestStream = 0x5e270002;

// Distance between two centers, in standard deviations of a cloud: far enough to be learned well,
// near enough that learning takes more than one step.
constexpr double kSeparation = 10;
// A center consists of this many runs of equal values, so that convolutions find something smooth.
constexpr std::int64_t kRuns = 14;
constexpr double kWrongLabels = 0.02;
constexpr std::int64_t kMaxFloats = std::int64_t{1} << 31;

// Approximately normal with standard deviation 1: the sum of four uniform 16-bit numbers. It needs
// one draw and integer arithmetic, so it is fast and the same everywhere.
float bell(Random& random) {
  const std::uint64_t bits = random.next();
  const auto sum = static_cast<std::int32_t>((bits & 0xffff) + (bits >> 16 & 0xffff) +
                                             (bits >> 32 & 0xffff) + (bits >> 48));
  constexpr float kMean = 2 * 65535.0F;
  constexpr float kDeviation = 37837.23F;  // sqrt(4 * (65536^2 - 1) / 12)
  return (static_cast<float>(sum) - kMean) / kDeviation;
}

// One center per class, row by row.
std::vector<float> draw_centers(const DataSpec& spec, Random random) {
  const auto amplitude =
      static_cast<float>(kSeparation / std::sqrt(2 * static_cast<double>(spec.features)));
  const std::int64_t run = std::max<std::int64_t>(spec.features / kRuns, 1);
  std::vector<float> centers;
  centers.reserve(static_cast<std::size_t>(spec.classes * spec.features));
  for (std::int64_t i = 0; i < spec.classes; ++i) {
    float value = 0;
    for (std::int64_t j = 0; j < spec.features; ++j) {
      value = j % run == 0 ? amplitude * bell(random) : value;
      centers.push_back(value);
    }
  }
  return centers;
}

SampleTable draw(const std::vector<float>& centers, std::int64_t classes, std::int64_t count,
                 Random random) {
  const std::size_t width = centers.size() / static_cast<std::size_t>(classes);
  const auto class_count = static_cast<std::uint64_t>(classes);
  std::vector<float> features(static_cast<std::size_t>(count) * width);
  std::vector<std::int32_t> labels;
  for (float* row = features.data(); row != features.data() + features.size(); row += width) {
    const std::uint64_t label = random.below(class_count);
    const float* center = centers.data() + label * width;
    for (std::size_t i = 0; i < width; ++i) {
      row[i] = center[i] + bell(random);
    }
    const bool wrong = random.uniform() < kWrongLabels;
    labels.push_back(static_cast<std::int32_t>(wrong ? random.below(class_count) : label));
  }
  return {width, std::move(features), std::move(labels)};
}

}  // namespace

Result<Dataset> make_synthetic(const DataSpec& spec, std::uint64_t seed, Parts parts) {
  if (spec.samples < 1 || spec.test_samples < 1 || spec.features < 1 || spec.classes < 2) {
    return fail("synthetic data: expected samples, test_samples and features >= 1, classes >= 2");
  }
  if (std::max({spec.samples, spec.test_samples, spec.classes}) > kMaxFloats / spec.features) {
    return fail("synthetic data: {} samples of {} features do not fit in memory",
                std::max(spec.samples, spec.test_samples), spec.features);
  }
  const auto centers = draw_centers(spec, Random(seed, kCenterStream));
  Dataset data{{spec.features}, spec.classes, spec.samples, {}, {}};
  if (keeps_training(parts)) {
    data.training = draw(centers, spec.classes, spec.samples, Random(seed, kTrainingStream));
  }
  if (keeps_test(parts)) {
    data.test = draw(centers, spec.classes, spec.test_samples, Random(seed, kTestStream));
  }
  return data;
}

}  // namespace motley
