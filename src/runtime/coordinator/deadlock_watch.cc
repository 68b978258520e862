#include "runtime/coordinator/deadlock_watch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "motley/sync/method.h"
#include "runtime/run/run_logic.h"

namespace motley {
namespace {

constexpr std::size_t kNamedWaiters = 8;  // listed in a report

std::string name_of(Rank rank, const Roster& roster) {
  if (rank == kCoordinator) {
    return "the coordinator";
  }
  const std::vector<Rank>& members = roster.members();
  return rank >= 0 && rank < std::ssize(members)
             ? roster.name(members[static_cast<std::size_t>(rank)])
             : "anyone";
}

std::string wait_text(const std::string& who, Match match, const Roster& roster) {
  return fmt::format("{} waits for channel {} from {}", who,
                     static_cast<std::uint32_t>(match.channel), name_of(match.from, roster));
}

}  // namespace

void DeadlockWatch::begin_term(const std::vector<Rank>& processes) {
  reports_.clear();
  reports_[kCoordinator];
  for (const Rank process : processes) {
    reports_[process];
  }
}

bool DeadlockWatch::hear(Rank process, const std::optional<WaitInfo>& info, Seconds now) {
  if (!info) {
    return false;
  }
  const auto found = reports_.find(process);
  if (found == reports_.end()) {
    return true;
  }
  auto& report = found->second;
  const bool goes_on =
      report && report->info.counts == info->counts && now - report->latest <= kFresh;
  report = {*info, goes_on ? report->since : now, now};
  return true;
}

bool DeadlockWatch::is_stuck(Seconds now) const {
  const bool all_still = std::ranges::all_of(reports_, [&](const auto& item) {
    const auto& report = item.second;
    return report && now - report->latest <= kFresh && now - report->since >= kStill;
  });
  if (!all_still) {
    return false;
  }
  MessageCounts total;
  for (const auto& [process, report] : reports_) {
    total.sent += report->info.counts.sent;
    total.arrived += report->info.counts.arrived;
  }
  return total.sent == total.arrived;
}

std::string DeadlockWatch::report(const Job& job, const Roster& roster, Seconds now) const {
  const auto match_of = [&](Rank process) { return reports_.at(process)->info.match; };
  std::vector<std::string> waits;
  int done = 0;
  if (method_of(job).serve) {
    const Match match = match_of(kCoordinator);
    waits.push_back(match.channel == Channel::kControl ? "its service has returned"
                                                       : wait_text("its service", match, roster));
  }
  for (const Rank process : roster.members()) {
    if (roster[process].done || roster[process].term_end) {
      ++done;
    } else if (waits.size() < kNamedWaiters) {
      waits.push_back(wait_text(roster.name(process), match_of(process), roster));
    }
  }
  waits.push_back(fmt::format("{} of {} processes are done", done, roster.members().size()));
  return deadlock_reason(job, fmt::format("deadlock at {:.3g} s: {}", now, fmt::join(waits, "; ")));
}

}  // namespace motley
