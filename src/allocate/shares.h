// How many of a step's samples each worker computes. Pure: the same on every rank.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace motley {

// `total` samples over `workers`, as equal as whole numbers allow; the first ranks take the rest.
std::vector<std::size_t> equal_shares(std::size_t total, int workers);

// The part of `items` that belongs to `rank` when they are dealt out in this order.
template <class T>
std::span<T> share_of(std::span<T> items, std::span<const std::size_t> shares, int rank) {
  std::size_t begin = 0;
  for (int r = 0; r < rank; ++r) {
    begin += shares[static_cast<std::size_t>(r)];
  }
  return items.subspan(begin, shares[static_cast<std::size_t>(rank)]);
}

}  // namespace motley
