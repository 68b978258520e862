#include "runtime/rendezvous/places.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace motley {
namespace {

// In the life of a run. Each costs some hundred bytes.
constexpr int kMostFreshNumbers = 1 << 20;

Placing given(Rank process) { return {Placing::Kind::kGiven, process}; }
Placing later() { return {Placing::Kind::kLater}; }
Placing refused(std::string why) { return {Placing::Kind::kRefused, 0, std::move(why)}; }

bool is_same_process(const Peer& one, const Peer& other) {
  return one.pid == other.pid && one.host == other.host;
}

}  // namespace

Places::Places(Peer host, Rank first, int ranks, Rank without_rank)
    : host_(std::move(host)),
      first_(first),
      ranks_(ranks),
      without_rank_(without_rank),
      next_(first + ranks) {
  for (Rank rank = first_; rank < end(); ++rank) {
    holders_[rank] = rank;
  }
  if (host_.rank) {
    take(*host_.rank, host_, "");
  }
}

Rank Places::add_place() {
  promised_.insert(next_);
  return next_++;
}

void Places::forget(Rank process) {
  if (process == host_.rank) {
    return;  // the run ends with its host
  }
  if (const auto found = processes_.find(process); found != processes_.end()) {
    found->second.is_gone = true;
  }
  std::erase_if(holders_, [&](const auto& holder) { return holder.second == process; });
  promised_.erase(process);
}

std::vector<Newcomer> Places::take_newcomers() { return std::exchange(newcomers_, {}); }

Placing Places::place_for(const Peer& peer, const std::string& attempt) const {
  return late_ ? late_place(peer, attempt) : early_place(peer, attempt);
}

void Places::take(Rank process, Peer peer, const std::string& attempt) {
  // They were compared and can be long.
  peer.job.clear();
  peer.parameters.clear();
  if (!late_) {
    peer.rank = process;
    processes_[process] = {std::move(peer), attempt};
    return;
  }
  if (!processes_.try_emplace(process, Process{peer, attempt}).second || process < end()) {
    return;  // it repeats itself
  }
  next_ = std::max(next_, process + 1);
  if (promised_.erase(process) == 0 && peer.rank) {
    holders_[*peer.rank] = process;
  }
  newcomers_.push_back({process, std::move(peer)});
}

std::optional<Peer> Places::peer(Rank process) const {
  const auto found = processes_.find(process);
  return found == processes_.end() ? std::nullopt : std::optional(found->second.peer);
}

std::vector<Rank> Places::missing() const {
  std::vector<Rank> ranks;
  for (Rank rank = first_; rank < end(); ++rank) {
    if (!processes_.contains(rank)) {
      ranks.push_back(rank);
    }
  }
  return ranks;
}

// The host may join its own rendezvous.
bool Places::is_host(const Peer& peer) const {
  return peer.rank && peer.rank == host_.rank && is_same_process(peer, host_);
}

// Whether this very process is in the run, as far as is known.
bool Places::has(const Peer& peer) const {
  return std::ranges::any_of(processes_, [&](const auto& item) {
    return !(late_ && item.second.is_gone) && is_same_process(item.second.peer, peer);
  });
}

// A process joins once for each of its ranks: as a worker, and for servers beside it. A peer that
// repeats its attempt has not received the answer.
bool Places::is_here_already(const Peer& peer, const std::string& attempt) const {
  const auto found = processes_.find(*peer.rank);
  if (found == processes_.end()) {
    return !is_of_this_run(*peer.rank) && has(peer);
  }
  const Process& first = found->second;
  return first.attempt != attempt && is_same_process(first.peer, peer);
}

Placing Places::early_place(const Peer& peer, const std::string& attempt) const {
  if (!peer.rank) {
    return early_place_without_rank(peer, attempt);
  }
  if (is_host(peer)) {
    return given(*peer.rank);
  }
  if (peer.rank != host_.rank && is_here_already(peer, attempt)) {
    return later();
  }
  if (const auto found = processes_.find(*peer.rank); found != processes_.end()) {
    const bool asks_again = !attempt.empty() && found->second.attempt == attempt;
    return asks_again ? given(*peer.rank) : joined_twice(peer);
  }
  return is_of_this_run(*peer.rank) ? given(*peer.rank) : outside(peer);
}

Placing Places::early_place_without_rank(const Peer& peer, const std::string& attempt) const {
  if (const auto again = repeated(peer, attempt)) {
    return given(*again);
  }
  const auto free = missing();
  if (free.empty() || free.front() >= without_rank_) {
    return refused(fmt::format("no rank is left for {}: all {} are taken", name_of_peer(peer),
                               std::min(ranks_, without_rank_ - first_)));
  }
  return given(free.front());
}

Placing Places::late_place(const Peer& peer, const std::string& attempt) const {
  if (const auto again = repeated(peer, attempt)) {
    return given(*again);
  }
  if (!peer.rank) {
    return fresh_place(peer);
  }
  if (peer.rank == host_.rank) {
    return is_host(peer) ? given(*peer.rank) : joined_twice(peer);
  }
  if (!is_of_this_run(*peer.rank)) {
    return late_place_outside(peer);
  }
  // A restarted process may be faster than the news of its predecessor's death.
  return holders_.contains(*peer.rank) ? later() : fresh_place(peer);
}

Placing Places::late_place_outside(const Peer& peer) const {
  if (promised_.contains(*peer.rank)) {
    return given(*peer.rank);
  }
  if (has(peer)) {
    return later();
  }
  return processes_.contains(*peer.rank) ? joined_twice(peer) : outside(peer);
}

Placing Places::fresh_place(const Peer& peer) const {
  if (next_ - end() >= kMostFreshNumbers) {
    return refused(fmt::format("no place is left for {}: {} processes have joined this run late",
                               name_of_peer(peer), kMostFreshNumbers));
  }
  return given(next_);
}

// What a repetition of this attempt was given. If that process has been forgotten since, the run
// goes on without it, so it is a newcomer again.
std::optional<Rank> Places::repeated(const Peer& peer, const std::string& attempt) const {
  for (const auto& [number, process] : processes_) {
    const bool fits = !peer.rank || peer.rank == number || peer.rank == process.peer.rank;
    const bool is_gone = late_ && process.is_gone;
    if (!attempt.empty() && process.attempt == attempt && fits && !is_gone) {
      return number;
    }
  }
  return std::nullopt;
}

Placing Places::joined_twice(const Peer& peer) const {
  const Peer& first = processes_.at(*peer.rank).peer;
  return refused(fmt::format("rank {} joined twice: first pid {} on {}, now pid {} on {}",
                             *peer.rank, first.pid, for_people(first.host), peer.pid,
                             for_people(peer.host)));
}

Placing Places::outside(const Peer& peer) const {
  return refused(fmt::format("{} is not part of this run, which has ranks {} to {}",
                             name_of_peer(peer), first_, end() - 1));
}

}  // namespace motley
