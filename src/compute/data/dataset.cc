#include "compute/data/dataset.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "compute/data/cifar10.h"
#include "compute/data/idx.h"
#include "compute/data/libsvm.h"
#include "compute/data/synthetic.h"
#include "job/choices.h"

namespace motley {
namespace {

void gather_row(const Pixels& pixels, std::size_t row, std::span<float> out) {
  const auto& [scale, shift] = pixels.standardisation;
  const std::size_t plane = out.size() / scale.size();
  const std::uint8_t* from = pixels.values.data() + row * out.size();
  for (std::size_t channel = 0; channel < scale.size(); ++channel) {
    const float factor = scale[channel];
    for (std::size_t i = channel * plane; i < (channel + 1) * plane; ++i) {
      out[i] = static_cast<float>(from[i]) * factor + shift[i];
    }
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

std::size_t rows_of(const SampleTable::Features& features, std::size_t width) {
  struct {
    std::size_t operator()(const std::vector<float>& f) const { return f.size() / width; }
    std::size_t operator()(const Pixels& f) const { return f.values.size() / width; }
    std::size_t operator()(const SparseRows& f) const { return f.size(); }
    std::size_t width;
  } count{width};
  return std::visit(count, features);
}

}  // namespace

Standardisation standardise(std::span<const std::uint8_t> images, std::size_t width,
                            std::size_t channels) {
  // Integer arithmetic as long as possible, so that every machine gets the same floats.
  std::vector<std::uint64_t> sums(width);
  std::vector<std::uint64_t> squares(width);
  for (std::size_t image = 0; image < images.size(); image += width) {
    for (std::size_t i = 0; i < width; ++i) {
      const std::uint64_t value = images[image + i];
      sums[i] += value;
      squares[i] += value * value;
    }
  }
  const std::size_t images_in_all = images.size() / width;
  const auto count = static_cast<double>(images_in_all);
  const std::size_t plane = width / channels;
  Standardisation result;
  for (std::size_t channel = 0; channel < channels; ++channel) {
    double variance = 0;
    for (std::size_t i = channel * plane; i < (channel + 1) * plane; ++i) {
      const double mean = static_cast<double>(sums[i]) / count;
      variance += static_cast<double>(squares[i]) / count - mean * mean;
    }
    variance /= static_cast<double>(plane);
    const double deviation = variance > 1e-6 ? std::sqrt(variance) : 1.0;
    result.scale.push_back(static_cast<float>(1 / deviation));
    for (std::size_t i = channel * plane; i < (channel + 1) * plane; ++i) {
      const double mean = static_cast<double>(sums[i]) / count;
      result.shift.push_back(static_cast<float>(-mean / deviation));
    }
  }
  return result;
}

SampleTable::SampleTable(std::size_t width, Features features, std::vector<std::int32_t> labels)
    : width_(width), features_(std::move(features)), labels_(std::move(labels)) {
  MOTLEY_CHECK(width > 0 && rows_of(features_, width) == labels_.size(),
               "{} labels for features of another number of samples", labels_.size());
}

void SampleTable::gather(std::span<const SampleIndex> rows, std::span<float> out,
                         std::span<std::int64_t> labels) const {
  MOTLEY_CHECK(out.size() == rows.size() * width_ && labels.size() == rows.size(),
               "{} floats and {} labels do not fit {} samples", out.size(), labels.size(),
               rows.size());
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
  if (spec.kind == DataKind::kIdx) {
    return read_idx(spec.path, spec.classes, parts);
  }
  if (spec.kind == DataKind::kCifar10) {
    return read_cifar10(spec.path, parts);
  }
  if (spec.kind == DataKind::kLibsvm) {
    return read_libsvm(spec, seed, parts);
  }
  if (spec.kind == DataKind::kSynthetic) {
    return make_synthetic(spec, seed, parts);
  }
  return fail("data.kind = \"{}\": expected idx, cifar10, libsvm or synthetic", name_of(spec.kind));
}

}  // namespace motley
