#include "cluster/cost.h"

namespace motley {
namespace {

constexpr std::uint64_t kSlowdownStream = 0x510d0000;

}  // namespace

CostModel::CostModel(const ClusterSpec& cluster, Rank rank, std::uint64_t seed)
    : cluster_(cluster),
      rank_(rank),
      random_(seed, kSlowdownStream + static_cast<std::uint64_t>(rank)) {}

Seconds CostModel::next_step(Seconds now, std::size_t samples) {
  double slowdown = 1;
  for (const RandomSlowdown& random : cluster_.slowdowns) {
    if (random_.uniform() < random.probability) {
      slowdown *= random.factor;
    }
  }
  const Seconds sampling = static_cast<double>(samples) * cluster_.unit / speed_at(now);
  return (cluster_.overhead + sampling) * slowdown;
}

double CostModel::speed_at(Seconds now) const {
  double speed = cluster_.speeds.at(static_cast<std::size_t>(rank_));
  for (const SpeedEvent& event : cluster_.events) {
    if (event.worker == rank_ && event.at <= now) {
      speed = event.speed;
    }
  }
  return speed;
}

double ideal_rate(const ClusterSpec& cluster) {
  if (cluster.unit <= 0) {
    return 0;
  }
  double rate = 0;
  for (double speed : cluster.speeds) {
    rate += speed / cluster.unit;
  }
  return rate;
}

}  // namespace motley
