// Timeline: amounts over time, for any number of rows: seconds of computing, samples. Time is cut
// into bins of equal width; when a run outgrows them the width doubles and neighbours are added up.
// So memory is bounded, and the sum of a row is always exactly what was added to it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "motley/base/ids.h"

namespace motley {

class Timeline {
 public:
  // `bins` is even.
  Timeline(std::size_t rows, std::size_t bins);

  // Spread evenly from `begin` to `end`; all at once where these are the same.
  void add(std::size_t row, Seconds begin, Seconds end, double amount);
  void add(std::size_t row, Seconds at, double amount) { add(row, at, at, amount); }

  Seconds width() const { return width_; }
  // Bins up to the last moment that anything was added for.
  std::size_t used() const { return used_; }
  // That many amounts.
  std::span<const double> row(std::size_t row) const {
    return std::span(amounts_).subspan(row * bins_, used_);
  }

 private:
  static constexpr Seconds kFirstWidth = 1.0 / (1 << 20);

  void make_room_for(Seconds moment);
  std::size_t bin_of(Seconds moment) const { return static_cast<std::size_t>(moment / width_); }

  const std::size_t bins_;
  Seconds width_ = kFirstWidth;
  std::size_t used_ = 0;
  std::vector<double> amounts_;  // row after row
};

}  // namespace motley
