#include "allocate/shares.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/check.h"

namespace motley {
namespace {

// Real-valued shares of `total` in proportion to the weights, at least one sample each: a worker
// that would get less gets one, and the others share the rest, until no further worker falls below.
std::vector<double> with_a_floor_of_one(double total, std::span<const double> weights) {
  std::vector<double> shares(weights.size());
  std::vector<bool> at_floor(weights.size(), false);
  for (bool changed = true; changed;) {
    changed = false;
    double rest = total;
    double weight = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      (at_floor[i] ? rest : weight) += at_floor[i] ? -1 : weights[i];
    }
    for (std::size_t i = 0; i < weights.size(); ++i) {
      shares[i] = at_floor[i] ? 1 : rest * (weights[i] / weight);
      if (shares[i] < 1) {
        at_floor[i] = true;
        changed = true;
      }
    }
  }
  return shares;
}

std::vector<double> in_proportion(double total, std::span<const double> weights) {
  const double weight = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<double> shares;
  for (double w : weights) {
    shares.push_back(total * (w / weight));
  }
  return shares;
}

// Integers next to `shares` that add up to `total`: rounded down, then incremented for those that
// lost most.
Shares largest_remainder(std::size_t total, std::span<const double> shares) {
  Shares whole;
  std::vector<double> remainder;
  std::size_t given = 0;
  for (double share : shares) {
    // A share that is an integer up to rounding counts as that integer: 64 must not become 63.
    const double down = std::floor(share + 1e-12 * share);
    whole.push_back(static_cast<std::size_t>(down));
    remainder.push_back(share - down);
    given += whole.back();
  }
  std::vector<std::size_t> order(shares.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return remainder[a] > remainder[b]; });
  MOTLEY_CHECK(given <= total && total - given <= order.size(), "{} of {} samples", given, total);
  for (std::size_t i = 0; i < total - given; ++i) {
    ++whole[order[i]];
  }
  return whole;
}

}  // namespace

// Those with the largest shares keep one, as many as there can be.
Shares without_small_shares(Shares shares, std::size_t least) {
  const auto is_small = [&](std::size_t share) { return share > 0 && share < least; };
  if (std::ranges::none_of(shares, is_small)) {
    return shares;
  }
  std::vector<std::size_t> order(shares.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t i) { return shares[i]; });
  const std::size_t total = std::accumulate(shares.begin(), shares.end(), std::size_t{0});
  const auto have_some = shares.size() - static_cast<std::size_t>(std::ranges::count(shares, 0U));
  const std::size_t keep = std::clamp<std::size_t>(total / least, 1, have_some);
  std::size_t left = total;
  for (std::size_t place = 0; place < order.size(); ++place) {
    std::size_t& share = shares[order[place]];
    const std::size_t behind = place < keep ? keep - place - 1 : 0;  // who keep one, after this
    share = place < keep ? std::min(std::max(share, least), left - behind * least) : 0;
    left -= share;
  }
  shares[order.front()] += left;
  return shares;
}

Shares equal_shares(std::size_t total, int workers) {
  const auto n = static_cast<std::size_t>(workers);
  Shares shares(n, total / n);
  for (std::size_t r = 0; r < total % n; ++r) {
    ++shares[r];
  }
  return shares;
}

Shares integer_shares(std::size_t total, std::span<const double> weights) {
  for (double weight : weights) {
    MOTLEY_CHECK(weight > 0 && std::isfinite(weight), "weight {}", weight);
  }
  const auto samples = static_cast<double>(total);
  return largest_remainder(total, total >= weights.size() ? with_a_floor_of_one(samples, weights)
                                                          : in_proportion(samples, weights));
}

}  // namespace motley
