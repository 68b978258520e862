#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/coordinator/coordinator_impl.h"

namespace motley {
namespace {

constexpr Seconds kAskAgain = 1;  // between two attempts of a newcomer to reach a member
// For the packets that open a connection: long enough for TCP to repeat the first one with the
// usual heartbeat.
constexpr double kHeartbeatsToReach = 0.25;
constexpr Seconds kLeastToReach = 0.2;

}  // namespace

// A member has no connection to another one any more. If that one is dead, this is soon known.
bool Coordinator::Impl::on_peer_lost(Rank process, const std::optional<LostInfo>& info) {
  if (!info) {
    return false;
  }
  if (info->term != position_.term.number || !roster_.is_member(process)) {
    return true;
  }
  if (!failures_.expects_losses()) {
    failures_.on_peer_lost(process, info->why, node_.now());
  } else if (roster_.contains(info->process)) {
    links_.hear(process, info->process, info->why, node_.now());
  }
  return true;
}

bool Coordinator::Impl::on_reached(Rank process, const std::optional<ReachedInfo>& info) {
  ProcessState& state = roster_[process];
  if (info && info->number == state.reach_number) {
    state.unreached = info->unreached;
    for (const Rank other : state.to_reach) {
      if (roster_.contains(other) && std::ranges::count(info->unreached, other) == 0) {
        cut_hosts_.erase(hosts_of(process, other));
      }
    }
  }
  return info.has_value();
}

// Two members that both still reach the coordinator have lost their connection.
void Coordinator::Impl::look_at_links() {
  while (const auto cut = links_.verdict(node_.now())) {
    const std::string why = fmt::format("{} broke ({})", between(cut->one, cut->other), cut->why);
    if (cut->goes) {
      for (const Rank process : who_goes_of({{cut->one, cut->other}})) {
        failures_.lose(process, "is lost: " + why, node_.now());
      }
    } else {
      mends_.emplace_back(cut->one, cut->other);
      why_broken_ = why;
      broken_link_ = true;
    }
  }
}

// Connections that broke are made anew if the network carries packets. Otherwise somebody has to
// go, and joins again when it does. Call when all members have settled.
void Coordinator::Impl::prove_links() {
  const auto is_here = [&](const auto& pair) {
    return roster_.contains(pair.first) && roster_.contains(pair.second);
  };
  std::vector<std::pair<Rank, Rank>> cut;
  for (const auto& pair : mends_) {
    if (!is_here(pair)) {
      continue;
    }
    ask_to_reach(pair.second, {pair.first});
    watch_until([&] { return !is_here(pair) || roster_[pair.second].unreached; });
    if (is_here(pair) && !roster_[pair.second].unreached->empty()) {
      cut.push_back(pair);
      cut_hosts_.insert(hosts_of(pair.first, pair.second));
    } else if (is_here(pair)) {
      decide("goes on with the same workers",
             between(pair.first, pair.second) + " broke, and is made anew");
    }
  }
  for (const Rank process : who_goes_of(cut)) {
    const auto one = std::ranges::find_if(
        cut, [&](const auto& pair) { return pair.first == process || pair.second == process; });
    lose({process, fmt::format("is lost: {} broke, and they do not reach each other",
                               between(one->first, one->second))});
  }
}

// A newcomer may join if it reaches all members that were not reached from its host before.
void Coordinator::Impl::look_at_newcomer(Rank process) {
  ProcessState& state = roster_[process];
  if (!state.loaded || state.ready || state.can_leave) {
    return;
  }
  const std::vector<Rank> doubtful = doubtful_for(process);
  if (doubtful.empty()) {
    state.ready = true;
  } else if (state.reach_number == 0) {
    ask_to_reach(process, doubtful);
  } else if (state.unreached && node_.now() - state.reach_asked > kAskAgain) {
    if (!std::exchange(state.told_unreached, true)) {
      decide(members_.describe(process) + " may not join yet",
             "it does not reach " + members_.describe(doubtful.front()));
    }
    ask_to_reach(process, doubtful);
  }
}

// The members that this newcomer may not reach, as far as is known.
std::vector<Rank> Coordinator::Impl::doubtful_for(Rank newcomer) const {
  std::vector<Rank> doubtful;
  std::ranges::copy_if(roster_.members(), std::back_inserter(doubtful), [&](Rank member) {
    return roster_.contains(member) && cut_hosts_.contains(hosts_of(newcomer, member));
  });
  return doubtful;
}

void Coordinator::Impl::ask_to_reach(Rank process, const std::vector<Rank>& others) {
  ProcessState& state = roster_[process];
  state.reach_number = ++reach_requests_;
  state.reach_asked = node_.now();
  state.unreached.reset();
  state.to_reach = others;
  ReachInfo request{
      .number = state.reach_number,
      .patience = std::max(kLeastToReach, kHeartbeatsToReach * run_job_.cluster.heartbeat),
      .others = {}};
  for (const Rank other : others) {
    request.others.push_back({other, roster_[other].id, *roster_[other].endpoint});
  }
  control_.tell(process, Control::kReach, encode(request));
}

std::vector<Rank> Coordinator::Impl::who_goes_of(
    const std::vector<std::pair<Rank, Rank>>& cut) const {
  std::set<Rank> servers;
  for (const auto& [process, state] : roster_.processes()) {
    if (state.is_server) {
      servers.insert(process);
    }
  }
  return who_goes(cut, servers, gathering_.host.rank);
}

std::pair<std::string, std::string> Coordinator::Impl::hosts_of(Rank one, Rank other) const {
  return std::minmax(std::string(roster_[one].endpoint->host),
                     std::string(roster_[other].endpoint->host));
}

std::string Coordinator::Impl::between(Rank one, Rank other) const {
  return fmt::format("the connection between {} and {}", members_.describe(one),
                     members_.describe(other));
}

}  // namespace motley
