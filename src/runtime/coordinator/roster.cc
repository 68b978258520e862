#include "runtime/coordinator/roster.h"

#include <fmt/format.h>

#include <map>

namespace motley {

std::string Roster::name(Rank rank) const {
  return rank >= workers_ ? fmt::format("server {}", rank - workers_)
                          : fmt::format("worker {}", rank);
}

std::vector<Rank> Roster::missing() const {
  std::vector<Rank> ranks;
  for (Rank rank = 0; rank < size(); ++rank) {
    if (!(*this)[rank].endpoint) {
      ranks.push_back(rank);
    }
  }
  return ranks;
}

void Roster::hear_all(Seconds now) {
  for (ProcessState& process : processes_) {
    process.heard = now;
  }
}

void Roster::excuse(Seconds duration) {
  for (ProcessState& process : processes_) {
    process.heard += duration;
  }
}

std::vector<Endpoint> Roster::introduce(Seconds now) {
  hear_all(now);
  std::vector<Endpoint> endpoints;
  for (ProcessState& process : processes_) {
    process.introduced = true;
    endpoints.push_back(*process.endpoint);
  }
  return endpoints;
}

std::vector<Silence> Roster::silent(Seconds now, const SilenceLimits& limits) const {
  std::vector<Silence> all;
  for (Rank rank = 0; rank < size(); ++rank) {
    const ProcessState& process = (*this)[rank];
    const Seconds most = process.introduced ? limits.heartbeat : limits.to_join;
    const bool may_be_silent = process.endpoint && !process.introduced;
    if (!may_be_silent && now - process.heard > most) {
      all.push_back({rank, most});
    }
  }
  return all;
}

std::vector<DoneInfo> Roster::results() const {
  std::vector<DoneInfo> all;
  for (const ProcessState& process : processes_) {
    all.push_back(*process.done);
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
