#include "cluster/quotas.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace motley {

std::vector<double> quotas_for(std::span<const double> speeds, int threads, int cores) {
  if (speeds.empty()) {
    return {};
  }
  MOTLEY_CHECK(threads > 0 && cores > 0 && std::ranges::min(speeds) > 0,
               "{} threads, {} cores, speeds {}", threads, cores, fmt::join(speeds, ", "));
  const double sum = std::accumulate(speeds.begin(), speeds.end(), 0.0);
  const double scale = std::min(threads / std::ranges::max(speeds), cores / sum);
  std::vector<double> quotas;
  for (const double speed : speeds) {
    quotas.push_back(speed * scale);
  }
  return quotas;
}

std::vector<double> quotas_at(const ClusterSpec& cluster, Seconds now, int cores) {
  std::vector<double> speeds = cluster.speeds;
  std::vector<double> highest = cluster.speeds;
  for (const ClusterEvent& event : cluster.events) {
    if (event.kind != EventKind::kSpeed) {
      continue;
    }
    const auto worker = static_cast<std::size_t>(event.worker);
    speeds[worker] = event.at <= now ? event.speed : speeds[worker];
    highest[worker] = std::max(highest[worker], event.speed);
  }
  std::vector<double> quotas = quotas_for(highest, cluster.threads, cores);
  for (std::size_t i = 0; i < quotas.size(); ++i) {
    quotas[i] *= speeds[i] / highest[i];
  }
  return quotas;
}

}  // namespace motley
