#include "runtime/worker/pacer.h"

#include <algorithm>
#include <utility>

namespace motley {
namespace {

constexpr double kTolerance = 1.05;

}  // namespace

Seconds Pacer::rest(Seconds cost, Seconds took) {
  const Seconds computed = took + std::exchange(owed_, 0);
  pace_.steps += 1;
  pace_.missed += computed > cost * kTolerance ? 1 : 0;
  return std::max(0.0, cost - computed);
}

}  // namespace motley
