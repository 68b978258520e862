#include "cluster/cost.h"

#include <algorithm>
#include <iterator>

namespace motley {
namespace {

constexpr std::uint64_t kSlowdownStream = 0x510d0000;

}  // namespace

CostModel::CostModel(const ClusterSpec& cluster, Rank rank, std::uint64_t seed,
                     std::size_t micro_batch)
    : unit_(cluster.unit),
      overhead_(cluster.overhead.empty() ? 0 : cluster.overhead.at(static_cast<std::size_t>(rank))),
      micro_batch_(micro_batch),
      speed_(cluster.speeds.at(static_cast<std::size_t>(rank))),
      slowdowns_(cluster.slowdowns),
      random_(seed, kSlowdownStream + static_cast<std::uint64_t>(rank)) {
  std::copy_if(cluster.events.begin(), cluster.events.end(), std::back_inserter(events_),
               [&](const ClusterEvent& event) {
                 return event.worker == rank && event.kind == EventKind::kSpeed;
               });
}

Seconds CostModel::next_step(Seconds now, std::size_t samples) {
  double slowdown = 1;
  for (const RandomSlowdown& random : slowdowns_) {
    if (random_.uniform() < random.probability) {
      slowdown *= random.factor;
    }
  }
  const auto parts = static_cast<double>(part_count(samples, micro_batch_));
  return (parts * overhead_ + static_cast<double>(samples) * unit_ / speed_at(now)) * slowdown;
}

double CostModel::speed_at(Seconds now) const {
  double speed = speed_;
  for (const ClusterEvent& event : events_) {
    if (event.at <= now) {
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
