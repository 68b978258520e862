#include "runtime/coordinator/deadlock_watch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "motley/sync/method.h"
#include "runtime/run/run_logic.h"

namespace motley {
namespace {

constexpr std::size_t kNamedWaiters = 8;  // listed in a report

std::string name_of(Rank rank, const Roster& roster) {
  if (rank == kCoordinator) {
    return "the coordinator";
  }
  return rank == kAnyRank ? "anyone" : roster.name(rank);
}

std::string wait_text(const std::string& who, Match match, const Roster& roster) {
  return fmt::format("{} waits for channel {} from {}", who,
                     static_cast<std::uint32_t>(match.channel), name_of(match.from, roster));
}

}  // namespace

bool DeadlockWatch::hear(Rank rank, const std::optional<WaitInfo>& info, Seconds now) {
  if (!info) {
    return false;
  }
  auto& report = reports_[index(rank)];
  const bool goes_on =
      report && report->info.counts == info->counts && now - report->latest <= kFresh;
  report = {*info, goes_on ? report->since : now, now};
  return true;
}

bool DeadlockWatch::is_stuck(Seconds now) const {
  const bool all_still = std::ranges::all_of(reports_, [&](const auto& report) {
    return report && now - report->latest <= kFresh && now - report->since >= kStill;
  });
  if (!all_still) {
    return false;
  }
  MessageCounts total;
  for (const auto& report : reports_) {
    total.sent += report->info.counts.sent;
    total.arrived += report->info.counts.arrived;
  }
  return total.sent == total.arrived;
}

std::string DeadlockWatch::report(const Job& job, const Roster& roster, Seconds now) const {
  const auto match_of = [&](Rank rank) { return reports_[index(rank)]->info.match; };
  std::vector<std::string> waits;
  int done = 0;
  if (method_of(job).serve) {
    const Match match = match_of(kCoordinator);
    waits.push_back(match.channel == Channel::kControl ? "its service has returned"
                                                       : wait_text("its service", match, roster));
  }
  for (Rank rank = 0; rank < roster.size(); ++rank) {
    if (roster[rank].done) {
      ++done;
    } else if (waits.size() < kNamedWaiters) {
      waits.push_back(wait_text(roster.name(rank), match_of(rank), roster));
    }
  }
  waits.push_back(fmt::format("{} of {} processes are done", done, roster.size()));
  return deadlock_reason(job, fmt::format("deadlock at {:.3g} s: {}", now, fmt::join(waits, "; ")));
}

}  // namespace motley
