// Timeline: amounts over time (seconds of computing, samples) for any number of rows. Time is
// divided into bins of equal width; when a run outgrows them the width doubles and neighbouring
// bins are merged. So memory is bounded, and the sum of a row is always exactly what was added to
// it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "motley/base/ids.h"
#include "motley/state/archive.h"

namespace motley {

class Timeline {
 public:
  // `bins` must be even.
  Timeline(std::size_t rows, std::size_t bins);

  // Adds an amount spread evenly from `begin` to `end`, or at one point if they are equal.
  void add(std::size_t row, Seconds begin, Seconds end, double amount);
  void add(std::size_t row, Seconds at, double amount) { add(row, at, at, amount); }

  // Makes room for more rows, or has fewer bins: those that are in use are merged.
  void reshape(std::size_t rows, std::size_t bins);

  // Forgets what was added to the bins after `end`.
  void trim(Seconds end);

  // Restoring takes over the number of rows and bins.
  void state(Archive& archive);

  std::size_t rows() const { return amounts_.size() / bins_; }
  Seconds width() const { return width_; }
  // Number of bins up to the latest time of any amount.
  std::size_t used() const { return used_; }
  // The amounts of the used() bins.
  std::span<const double> row(std::size_t row) const {
    return std::span(amounts_).subspan(row * bins_, used_);
  }

 private:
  static constexpr Seconds kFirstWidth = 1.0 / (1 << 20);

  void make_room_for(Seconds moment);
  void merge_bins();
  std::size_t bin_of(Seconds moment) const { return static_cast<std::size_t>(moment / width_); }

  std::size_t bins_;
  Seconds width_ = kFirstWidth;
  std::size_t used_ = 0;
  std::vector<double> amounts_;  // row-major
};

}  // namespace motley
