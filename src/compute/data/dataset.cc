#include "compute/data/dataset.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"
#include "compute/data/cifar10.h"
#include "compute/data/idx.h"
#include "compute/data/libsvm.h"
#include "compute/data/synthetic.h"

namespace motley {
namespace {

Standardisation::Channel standardise_channel(const std::array<std::uint64_t, 256>& histogram) {
  std::uint64_t count = 0;
  std::uint64_t sum = 0;
  std::uint64_t squares = 0;
  for (std::uint64_t value = 0; value < histogram.size(); ++value) {
    count += histogram[value];
    sum += histogram[value] * value;
    squares += histogram[value] * value * value;
  }
  if (count == 0) {
    return {};
  }
  const double mean = static_cast<double>(sum) / static_cast<double>(count);
  const double variance = static_cast<double>(squares) / static_cast<double>(count) - mean * mean;
  const double deviation = variance > 1e-6 ? std::sqrt(variance) : 1.0;
  return {static_cast<float>(1 / deviation), static_cast<float>(-mean / deviation)};
}

void gather_row(const Pixels& pixels, std::size_t row, std::span<float> out) {
  const auto& channels = pixels.standardisation.channels;
  const std::size_t plane = out.size() / channels.size();
  const std::uint8_t* from = pixels.values.data() + row * out.size();
  float* to = out.data();
  for (const auto [scale, shift] : channels) {
    for (std::size_t i = 0; i < plane; ++i) {
      to[i] = static_cast<float>(from[i]) * scale + shift;
    }
    from += plane;
    to += plane;
  }
}

void gather_row(const std::vector<float>& values, std::size_t row, std::span<float> out) {
  std::copy_n(values.data() + row * out.size(), out.size(), out.data());
}

void gather_row(const SparseRows& rows, std::size_t row, std::span<float> out) {
  std::fill(out.begin(), out.end(), 0.0F);
  for (std::size_t i = rows.begin[row]; i < rows.begin[row + 1]; ++i) {
    out[rows.indices[i]] = rows.values[i];
  }
}

std::size_t rows_of(const Samples::Features& features, std::size_t width) {
  struct {
    std::size_t operator()(const std::vector<float>& f) const { return f.size() / width; }
    std::size_t operator()(const Pixels& f) const { return f.values.size() / width; }
    std::size_t operator()(const SparseRows& f) const { return f.size(); }
    std::size_t width;
  } count{width};
  return std::visit(count, features);
}

}  // namespace

Standardisation standardise(std::span<const std::uint8_t> pixels, std::size_t channels,
                            std::size_t pixels_per_channel) {
  std::vector<std::array<std::uint64_t, 256>> histograms(channels);
  for (std::size_t begin = 0, plane = 0; begin < pixels.size(); begin += pixels_per_channel) {
    for (const std::uint8_t value : pixels.subspan(begin, pixels_per_channel)) {
      ++histograms[plane][value];
    }
    plane = (plane + 1) % channels;
  }
  Standardisation result;
  for (const auto& histogram : histograms) {
    result.channels.push_back(standardise_channel(histogram));
  }
  return result;
}

Samples::Samples(std::size_t width, Features features, std::vector<std::int32_t> labels)
    : width_(width), features_(std::move(features)), labels_(std::move(labels)) {
  MOTLEY_CHECK(width > 0 && rows_of(features_, width) == labels_.size(),
               "{} labels for features of another number of samples", labels_.size());
}

void Samples::gather(std::span<const SampleIndex> rows, std::span<float> out,
                     std::span<std::int64_t> labels) const {
  MOTLEY_CHECK(out.size() == rows.size() * width_ && labels.size() == rows.size(),
               "room for {} floats and {} labels does not fit {} samples", out.size(),
               labels.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    MOTLEY_CHECK(rows[i] < size(), "sample {} of {}", rows[i], size());
    labels[i] = labels_[rows[i]];
  }
  const auto gather_rows = [&](const auto& features) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      gather_row(features, rows[i], out.subspan(i * width_, width_));
    }
  };
  std::visit(gather_rows, features_);
}

Result<Dataset> read_dataset(const DataSpec& spec, std::uint64_t seed, Parts parts) {
  if (spec.kind == "idx") {
    return read_idx(spec.path, spec.classes, parts);
  }
  if (spec.kind == "cifar10") {
    return read_cifar10(spec.path, parts);
  }
  if (spec.kind == "libsvm") {
    return read_libsvm(spec, seed, parts);
  }
  if (spec.kind == "synthetic") {
    return make_synthetic(spec, seed, parts);
  }
  return fail("data.kind = \"{}\": expected idx, cifar10, libsvm or synthetic", spec.kind);
}

}  // namespace motley
