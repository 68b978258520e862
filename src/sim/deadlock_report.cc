#include "sim/deadlock_report.h"

#include <fmt/format.h>

#include <algorithm>

namespace motley {
namespace {

constexpr std::size_t kNamed = 8;

std::string name_of(Rank rank) {
  if (rank == kCoordinator) {
    return "the coordinator";
  }
  return rank == kAnyRank ? "anyone" : fmt::format("rank {}", rank);
}

std::string describe(const BlockedActivity& activity) {
  std::string who = name_of(activity.rank);
  if (!activity.name.empty()) {
    who += fmt::format(" ({})", activity.name);
  }
  return activity.match ? fmt::format("{} waits for channel {} from {}", who,
                                      static_cast<std::uint32_t>(activity.match->channel),
                                      name_of(activity.match->from))
                        : who + " sleeps forever";
}

}  // namespace

std::string deadlock_report(Seconds now, const std::vector<BlockedActivity>& blocked) {
  std::string report = fmt::format("deadlock at {} s", now);
  for (std::size_t i = 0; i < std::min(blocked.size(), kNamed); ++i) {
    report += fmt::format("{} {}", i == 0 ? ":" : ";", describe(blocked[i]));
  }
  if (blocked.size() > kNamed) {
    report += fmt::format("; and {} more", blocked.size() - kNamed);
  }
  return report;
}

}  // namespace motley
