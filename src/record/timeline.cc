#include "record/timeline.h"

#include <algorithm>

#include "base/check.h"

namespace motley {

Timeline::Timeline(std::size_t rows, std::size_t bins) : bins_(bins), amounts_(rows * bins, 0.0) {
  MOTLEY_CHECK(bins > 0 && bins % 2 == 0, "{} bins", bins);
}

void Timeline::add(std::size_t row, Seconds begin, Seconds end, double amount) {
  begin = std::max(begin, 0.0);
  end = std::max(begin, end);
  make_room_for(end);
  const std::size_t first = bin_of(begin);
  // A span that ends where a bin begins does not belong to that bin.
  std::size_t last = bin_of(end);
  if (last > first && static_cast<Seconds>(last) * width_ >= end) {
    --last;
  }
  used_ = std::max(used_, last + 1);
  double* const amounts = amounts_.data() + row * bins_;
  double rest = amount;  // the last bin takes it, so that rounding loses nothing
  for (std::size_t bin = first; bin < last; ++bin) {
    const Seconds from = std::max(begin, static_cast<Seconds>(bin) * width_);
    const Seconds to = static_cast<Seconds>(bin + 1) * width_;
    const double part = amount * (to - from) / (end - begin);
    amounts[bin] += part;
    rest -= part;
  }
  amounts[last] += rest;
}

void Timeline::reshape(std::size_t rows, std::size_t bins) {
  MOTLEY_CHECK(rows >= this->rows() && bins > 0 && bins % 2 == 0, "{} rows, {} bins", rows, bins);
  while (used_ > bins) {
    merge_bins();
  }
  std::vector<double> amounts(rows * bins, 0.0);
  for (std::size_t row = 0; row < this->rows(); ++row) {
    const auto from = amounts_.begin() + static_cast<std::ptrdiff_t>(row * bins_);
    std::copy_n(from, used_, amounts.begin() + static_cast<std::ptrdiff_t>(row * bins));
  }
  amounts_ = std::move(amounts);
  bins_ = bins;
}

void Timeline::trim(Seconds end) {
  const std::size_t left = std::min(used_, bin_of(std::max(end, 0.0)) + 1);
  for (std::size_t row = 0; row < rows(); ++row) {
    double* const amounts = amounts_.data() + row * bins_;
    std::fill(amounts + left, amounts + used_, 0.0);
  }
  used_ = left;
}

void Timeline::state(Archive& archive) {
  archive("width", width_);
  archive("bins", bins_);
  archive("used", used_);
  archive("amounts", amounts_);
  if (bins_ == 0 || bins_ % 2 != 0 || amounts_.size() % bins_ != 0 || used_ > bins_ ||
      !(width_ > 0)) {
    throw StateError("the timeline of the record is damaged");
  }
}

void Timeline::make_room_for(Seconds moment) {
  while (bin_of(moment) >= bins_) {
    merge_bins();
  }
}

// Neighbours become one.
void Timeline::merge_bins() {
  for (std::size_t row = 0; row < rows(); ++row) {
    double* const amounts = amounts_.data() + row * bins_;
    for (std::size_t bin = 0; bin < bins_ / 2; ++bin) {
      amounts[bin] = amounts[2 * bin] + amounts[2 * bin + 1];
    }
    std::fill(amounts + bins_ / 2, amounts + bins_, 0.0);
  }
  used_ = (used_ + 1) / 2;
  width_ *= 2;
}

}  // namespace motley
