#include "runtime/coordinator/roster.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace motley {

Roster::Roster(int workers, int servers) {
  for (Rank rank = 0; rank < workers + servers; ++rank) {
    add(rank, rank < workers ? rank : rank - workers, rank >= workers).admitted = true;
    members_.push_back(rank);
  }
}

ProcessState& Roster::add(Rank process, int id, bool is_server) {
  ProcessState& state = processes_[process];
  state.id = id;
  state.is_server = is_server;
  return state;
}

void Roster::remove(Rank process) { processes_.erase(process); }

std::string Roster::name(Rank process) const {
  if (!contains(process)) {
    return fmt::format("process {}", process);
  }
  const ProcessState& state = (*this)[process];
  if (state.id < 0) {
    return "a newcomer";
  }
  return fmt::format("{} {}", state.is_server ? "server" : "worker", state.id);
}

void Roster::set_members(std::vector<Rank> members) {
  members_ = std::move(members);
  for (auto& [process, state] : processes_) {
    state.prepared = false;
    state.term_end.reset();
    state.settled.reset();
    state.done.reset();
  }
}

std::optional<Rank> Roster::member_of(int worker) const {
  for (const Rank process : members_) {
    if (is_worker(process) && (*this)[process].id == worker) {
      return process;
    }
  }
  return std::nullopt;
}

std::optional<Rank> Roster::taking_part(ProcessId id) const {
  const auto found = std::ranges::find_if(processes_, [&](const auto& item) {
    return id_of(item.second) == id && item.second.admitted && !item.second.can_leave;
  });
  return found == processes_.end() ? std::nullopt : std::optional(found->first);
}

std::vector<Rank> Roster::missing() const {
  std::vector<Rank> missing;
  for (const Rank process : members_) {
    if (contains(process) && !(*this)[process].endpoint) {
      missing.push_back(process);
    }
  }
  return missing;
}

std::int64_t Roster::samples_used() const {
  std::int64_t used = 0;
  for (const Rank process : members_) {
    used = std::max(used, contains(process) ? (*this)[process].term_end->samples : 0);
  }
  return used;
}

void Roster::hear_all(Seconds now) {
  for (auto& [process, state] : processes_) {
    state.heard = now;
  }
}

void Roster::excuse(Seconds duration) {
  for (auto& [process, state] : processes_) {
    state.heard += duration;
  }
}

// Whoever has been heard since gets no more time than all others.
void Roster::look_again_after(Seconds since, Seconds now) {
  for (auto& [process, state] : processes_) {
    state.heard = since > kPause ? std::min(state.heard + since, now) : state.heard;
  }
}

std::vector<Silence> Roster::silent(Seconds now, const SilenceLimits& limits) const {
  std::vector<Silence> all;
  for (const auto& [process, state] : processes_) {
    const Seconds patience = state.introduced ? limits.heartbeat : limits.to_join;
    const double times = state.introduced ? kSilentHeartbeats : 1;
    const bool may_be_silent = (state.endpoint && !state.introduced) || state.can_leave;
    if (!may_be_silent && now - state.heard > times * patience) {
      all.push_back({process, patience});
    }
  }
  return all;
}

std::vector<DoneInfo> Roster::results() const {
  std::vector<DoneInfo> all;
  for (const Rank process : members_) {
    all.push_back(*(*this)[process].done);
  }
  return all;
}

std::vector<int> machines_of(const std::vector<std::string>& names) {
  std::map<std::string, int> known;
  std::vector<int> machines;
  for (const std::string& name : names) {
    machines.push_back(known.emplace(name, static_cast<int>(known.size())).first->second);
  }
  return machines;
}

}  // namespace motley
