#include "allocate/keyed_permutation.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace motley {
namespace {

__extension__ using Wide = unsigned __int128;

// Small tables need more rounds: for them, every possible order should be equally likely
// (keyed_permutation_test.cc).
constexpr std::uint64_t kFewCells = 1024;
constexpr std::size_t kRounds = 8;

std::uint64_t rows_for(std::uint64_t size) {
  return static_cast<std::uint64_t>(std::sqrt(static_cast<double>(size - 1))) + 1;
}

// `value` plus a hash of `key` and `hashed`, modulo `bound`.
std::uint64_t shifted(std::uint64_t value, std::uint64_t bound, std::uint64_t key,
                      std::uint64_t hashed) {
  const auto shift = static_cast<std::uint64_t>((Wide{mix64(key ^ hashed)} * bound) >> 64);
  const std::uint64_t sum = value + shift;
  return sum < bound ? sum : sum - bound;
}

}  // namespace

KeyedPermutation::KeyedPermutation(std::uint64_t size, Random keys)
    : size_(size),
      rows_(rows_for(size)),
      columns_((size + rows_ - 1) / rows_),
      rounds_(size <= kFewCells ? kMostRounds : kRounds) {
  MOTLEY_CHECK(size > 0 && size < std::uint64_t{1} << 63, "a permutation of {} numbers", size);
  std::ranges::generate(keys_, [&] { return keys.next(); });
}

template <std::size_t kCount>
void KeyedPermutation::permute(std::array<std::uint64_t, kCount>& rows,
                               std::array<std::uint64_t, kCount>& columns) const {
  for (std::size_t round = 0; round < rounds_; round += 2) {
    for (std::size_t i = 0; i < kCount; ++i) {
      rows[i] = shifted(rows[i], rows_, keys_[round], columns[i]);
    }
    for (std::size_t i = 0; i < kCount; ++i) {
      columns[i] = shifted(columns[i], columns_, keys_[round + 1], rows[i]);
    }
  }
}

// The number for a cell that has been permuted once: walks the cycle past unused cells.
std::uint64_t KeyedPermutation::number_at(std::uint64_t row, std::uint64_t column) const {
  std::array rows{row};
  std::array columns{column};
  while (rows[0] * columns_ + columns[0] >= size_) {
    permute(rows, columns);
  }
  return rows[0] * columns_ + columns[0];
}

void KeyedPermutation::fill(std::uint64_t begin, std::span<std::uint64_t> out) const {
  MOTLEY_CHECK(begin <= size_ && out.size() <= size_ - begin,
               "positions {} to {} of a permutation of {}", begin, begin + out.size(), size_);
  std::uint64_t row = begin / columns_;
  std::uint64_t column = begin % columns_;
  while (!out.empty()) {
    Lanes rows;
    Lanes columns;
    for (std::size_t i = 0; i < kLanes; ++i) {  // lanes past the end are computed but not used
      rows[i] = row;
      columns[i] = column;
      row += ++column == columns_ ? 1 : 0;
      column = column == columns_ ? 0 : column;
    }
    permute(rows, columns);
    const std::size_t count = std::min(out.size(), kLanes);
    for (std::size_t i = 0; i < count; ++i) {
      out[i] = number_at(rows[i], columns[i]);
    }
    out = out.subspan(count);
  }
}

}  // namespace motley
