#include "runtime/coordinator/stall_watch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace motley {
namespace {

constexpr std::size_t kNamed = 8;  // processes in one line

std::string whom(Rank rank, const StallWatch::Name& name) {
  if (rank == kCoordinator) {
    return "the coordinator";
  }
  return rank == kAnyRank ? "anyone" : name(rank);
}

}  // namespace

Seconds StallWatch::patience(const StallLimits& limits) {
  return std::max(kHeartbeats * limits.heartbeat, kSteps * limits.step);
}

void StallWatch::begin_term(Seconds now) {
  for (Process& process : processes_) {
    process = {};
    process.heard = now;
    process.progress = now;
  }
  told_.reset();
}

StallWatch::Process* StallWatch::find(Rank rank) {
  const bool known = rank >= 0 && static_cast<std::size_t>(rank) < processes_.size();
  return known ? &processes_[static_cast<std::size_t>(rank)] : nullptr;
}

void StallWatch::on_waits(Rank rank, const WaitInfo& info, Seconds now) {
  if (Process* process = find(rank)) {
    if (!process->waits || process->waits->counts != info.counts) {
      process->progress = now;
    }
    process->waits = info;
    process->waits_heard = now;
    process->heard = now;
  }
}

void StallWatch::on_progress(Rank rank, Seconds now) {
  if (Process* process = find(rank)) {
    process->progress = now;
    process->heard = now;
  }
}

void StallWatch::on_heard(Rank rank, Seconds now) {
  if (Process* process = find(rank)) {
    process->heard = now;
  }
}

void StallWatch::on_finished(Rank rank) {
  if (Process* process = find(rank)) {
    process->finished = true;
  }
}

bool StallWatch::is_silent(Rank rank, const StallLimits& limits, Seconds now) const {
  return now - at(rank).heard > limits.heartbeat;
}

// A process that waits says so several times per heartbeat, so an old report is no longer true.
std::optional<Match> StallWatch::waits_for(Rank rank, const StallLimits& limits,
                                           Seconds now) const {
  const Process& process = at(rank);
  const bool waits = process.waits && now - process.waits_heard <= limits.heartbeat / 2;
  return waits && !process.finished ? std::optional(process.waits->match) : std::nullopt;
}

std::optional<std::pair<Rank, Rank>> StallWatch::stuck_pair(const StallLimits& limits,
                                                            Seconds now) const {
  const auto stuck_with = [&](Rank rank) -> Rank {
    const bool stalls = now - at(rank).progress >= patience(limits);
    const auto match = waits_for(rank, limits, now);
    return stalls && match ? match->from : kAnyRank;
  };
  for (Rank one = 0; one < workers_; ++one) {
    const Rank other = stuck_with(one);
    if (other > one && other < workers_ && stuck_with(other) == one) {
      return std::pair(one, other);
    }
  }
  return std::nullopt;
}

// Those first that may be the cause.
std::vector<std::string> StallWatch::clauses(
    const StallLimits& limits, const Name& name, Seconds now,
    const std::optional<std::pair<Rank, Rank>>& pair) const {
  std::vector<std::string> silent, busy, stuck, waiting;
  for (Rank rank = 0; rank < static_cast<Rank>(processes_.size()); ++rank) {
    const Process& process = at(rank);
    if (process.finished) {
      continue;
    }
    if (is_silent(rank, limits, now)) {
      silent.push_back(
          fmt::format("nothing was heard from {} for {:.0f} s", name(rank), now - process.heard));
    } else if (rank >= workers_) {
      continue;
    } else if (const auto match = waits_for(rank, limits, now)) {
      const bool of_pair = pair && (rank == pair->first || rank == pair->second);
      (of_pair ? stuck : waiting)
          .push_back(fmt::format("{} waits for {}", name(rank), whom(match->from, name)));
    } else {
      busy.push_back(fmt::format("{} computes", name(rank)));
    }
  }
  for (auto* more : {&busy, &stuck, &waiting}) {
    silent.insert(silent.end(), more->begin(), more->end());
  }
  return silent;
}

std::optional<Stall> StallWatch::look(const StallLimits& limits, const Name& name,
                                      Seconds now) const {
  std::optional<Seconds> latest;
  for (Rank rank = 0; rank < workers_; ++rank) {
    if (!at(rank).finished) {
      latest = std::max(latest.value_or(at(rank).progress), at(rank).progress);
    }
  }
  const auto pair = stuck_pair(limits, now);
  const bool nobody_moves = latest && now - *latest >= patience(limits);
  if (!nobody_moves && !pair) {
    return std::nullopt;
  }
  Stall stall;
  stall.pair = pair;
  if (nobody_moves) {
    auto all = clauses(limits, name, now, pair);
    if (all.size() > kNamed) {
      const std::size_t more = all.size() - kNamed;
      all.resize(kNamed);
      all.push_back(fmt::format("and so on, {} more", more));
    }
    stall.seconds = now - *latest;
    stall.text = fmt::format("no progress for {:.0f} s: {}", stall.seconds, fmt::join(all, ", "));
  } else {
    const auto [one, other] = *pair;
    stall.seconds = now - std::max(at(one).progress, at(other).progress);
    stall.text = fmt::format("no progress of {0} and {1} for {2:.0f} s: they wait for each other",
                             name(one), name(other), stall.seconds);
  }
  if (pair) {
    stall.text += "; both reach the coordinator, but perhaps not each other";
  }
  return stall;
}

std::optional<Stall> StallWatch::news(const StallLimits& limits, const Name& name, Seconds now) {
  auto stall = look(limits, name, now);
  if (!stall) {
    told_.reset();
    return std::nullopt;
  }
  if (told_ && now - *told_ < patience(limits)) {
    return std::nullopt;
  }
  told_ = now;
  return stall;
}

}  // namespace motley
