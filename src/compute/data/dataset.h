// Dataset: samples and labels in memory, without torch, and a fast way to gather a batch of floats.
//
//   Result<Dataset> data = read_dataset(job.data, job.seed, Parts::kTraining);
//   data->training.gather(rows, features_out, labels_out);
//
// Samples are stored in their smallest form: pixels as bytes (standardised when a batch is
// gathered), libsvm rows as compressed sparse rows (made dense when gathered), synthetic samples as
// floats. Cost: gathering is one pass over the batch, about 0.1 ms for 128 images of 28 x 28.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "motley/base/ids.h"
#include "motley/job/job.h"

namespace motley {

// Which samples are kept in memory. The training files are always read: shape, classes and
// standardisation come from them. With kTraining the test files are not read.
enum class Parts { kTraining, kTest, kBoth };

inline bool keeps_training(Parts parts) { return parts != Parts::kTest; }
inline bool keeps_test(Parts parts) { return parts != Parts::kTraining; }

// Pixel i becomes value * scale of its channel + shift[i].
struct Standardisation {
  std::vector<float> scale;  // one per channel
  std::vector<float> shift;  // one per pixel of an image
};

// Standardises images as He et al. 2016 (arXiv:1512.03385): subtracts the mean image of the
// training set, then divides by the remaining standard deviation per channel. A constant channel
// becomes 0. `images` are consecutive training images of `width` bytes each, channel by channel.
Standardisation standardise(std::span<const std::uint8_t> images, std::size_t width,
                            std::size_t channels);

struct Pixels {
  std::vector<std::uint8_t> values;
  Standardisation standardisation;
};

// Compressed sparse rows: row r is [begin[r], begin[r + 1]) of indices and values.
struct SparseRows {
  std::vector<std::size_t> begin{0};
  std::vector<std::uint32_t> indices;
  std::vector<float> values;

  std::size_t size() const { return begin.size() - 1; }
};

class SampleTable {
 public:
  using Features = std::variant<std::vector<float>, Pixels, SparseRows>;

  SampleTable() = default;
  // `width` is the number of features of a sample; every label is below the number of classes.
  SampleTable(std::size_t width, Features features, std::vector<std::int32_t> labels);

  std::size_t size() const { return labels_.size(); }
  std::size_t width() const { return width_; }

  // Writes the samples `rows`, in that order: features to `out` (rows.size() x width()), labels to
  // `labels` (rows.size()).
  void gather(std::span<const SampleIndex> rows, std::span<float> out,
              std::span<std::int64_t> labels) const;

 private:
  std::size_t width_ = 0;
  Features features_;
  std::vector<std::int32_t> labels_;
};

struct Dataset {
  std::vector<std::int64_t> shape;  // of one sample: {features} or {channels, height, width}
  std::int64_t classes = 0;
  std::int64_t training_samples = 0;  // correct even if they are not kept
  SampleTable training;
  SampleTable test;
};

// Reads the data that the job names. A bad file gives a one-line Error that names it.
Result<Dataset> read_dataset(const DataSpec& spec, std::uint64_t seed, Parts parts);

}  // namespace motley
