#include "allocate/shares.h"

namespace motley {

std::vector<std::size_t> equal_shares(std::size_t total, int workers) {
  const auto n = static_cast<std::size_t>(workers);
  std::vector<std::size_t> shares(n, total / n);
  for (std::size_t r = 0; r < total % n; ++r) {
    ++shares[r];
  }
  return shares;
}

}  // namespace motley
