#include "runtime/simulate/member_events.h"

#include <algorithm>
#include <limits>

namespace motley {
namespace {

// Until a lost process that is started again asks to join.
constexpr Seconds kRespawn = 1;
// A term looks no further ahead than so many events: churn never ends, but may concern nobody who
// is there.
constexpr std::size_t kLookAhead = 100'000;

}  // namespace

void FrozenTime::state(Archive& archive) {
  archive("kind", process.kind);
  archive("id", process.id);
  archive("from", from);
  archive("until", until);
}

void MemberEvents::Return::state(Archive& archive) {
  archive("id", id);
  archive("at", at);
}

MemberEvents::MemberEvents(const ClusterSpec& cluster)
    : plan_(cluster),
      heartbeat_(cluster.heartbeat),
      respawns_most_(most_respawns(cluster, ProcessKind::kWorker)) {}

void MemberEvents::pull() {
  pulled_.push_back(*plan_.peek());
  plan_.pop();
}

// Of members, also those that have not begun. Overlapping ones are one.
std::vector<FrozenTime> MemberEvents::freezes_of(const Present& members) const {
  std::vector<FrozenTime> all = frozen_;
  for (const ClusterEvent& event : pulled_) {
    if (event.kind == EventKind::kFreezes && members.has(event.process())) {
      all.push_back({event.process(), event.at, event.at + event.seconds});
    }
  }
  std::ranges::stable_sort(all, [](const FrozenTime& a, const FrozenTime& b) {
    return std::pair(a.process, a.from) < std::pair(b.process, b.from);
  });
  std::vector<FrozenTime> merged;
  for (const FrozenTime& each : all) {
    if (!merged.empty() && merged.back().process == each.process &&
        each.from <= merged.back().until) {
      merged.back().until = std::max(merged.back().until, each.until);
    } else {
      merged.push_back(each);
    }
  }
  return merged;
}

// Who is the first to be silent for longer than the heartbeat.
std::optional<FrozenTime> MemberEvents::first_silence(const std::vector<FrozenTime>& frozen) const {
  std::optional<FrozenTime> first;
  for (const FrozenTime& each : frozen) {
    const bool is_long = each.until - each.from >= heartbeat_;
    if (is_long && (!first || each.from < first->from)) {
      first = each;
    }
  }
  return first;
}

Outlook MemberEvents::outlook(const Present& members) {
  Outlook outlook;
  const auto earlier = [](std::optional<Seconds>& known, Seconds at) {
    known = known ? std::min(*known, at) : at;
  };
  const auto look_at = [&](const ClusterEvent& event) {
    if (event.kind == EventKind::kDies && members.has(event.process())) {
      earlier(outlook.loss, event.at);
    } else if (event.kind == EventKind::kJoins ||
               (event.kind == EventKind::kLeaves && members.has(event.process()))) {
      earlier(outlook.change, event.at);
    }
  };
  std::ranges::for_each(pulled_, look_at);
  for (const Return& each : returns_) {
    earlier(outlook.change, each.at);
  }
  if (std::ranges::any_of(leaving_, [&](int id) { return members.workers.has(id); })) {
    earlier(outlook.change, taken_until_);
  }
  while (plan_.peek() && !(outlook.loss && plan_.peek()->at > *outlook.loss)) {
    if (pulled_.size() >= kLookAhead) {
      earlier(outlook.change, pulled_.back().at);  // then it looks again
      break;
    }
    pull();
    look_at(pulled_.back());
  }
  outlook.frozen = freezes_of(members);
  if (const auto silent = first_silence(outlook.frozen)) {
    earlier(outlook.loss, silent->from + heartbeat_);
  }
  return outlook;
}

std::optional<ClusterEvent> MemberEvents::next(Seconds now, const Present& members,
                                               bool is_in_order) {
  if (auto event = is_in_order ? take_leaving(members) : std::nullopt) {
    return event;
  }
  while (true) {
    while (plan_.peek() && plan_.peek()->at <= now && pulled_.size() < kLookAhead) {
      pull();
    }
    constexpr Seconds kNever = std::numeric_limits<Seconds>::infinity();
    std::erase_if(frozen_, [&](const FrozenTime& each) { return !members.has(each.process); });
    const auto silent = first_silence(frozen_);
    const auto back = std::ranges::min_element(returns_, {}, &Return::at);
    const Seconds silent_at = silent ? silent->from + heartbeat_ : kNever;
    const Seconds back_at = back != returns_.end() ? back->at : kNever;
    const Seconds planned_at = pulled_.empty() ? kNever : pulled_.front().at;
    if (std::min({silent_at, back_at, planned_at}) > now) {
      std::erase_if(frozen_, [&](const FrozenTime& each) { return each.until <= now; });
      return std::nullopt;
    }
    std::optional<ClusterEvent> event;
    if (planned_at <= std::min(silent_at, back_at)) {
      event = apply_planned(members, is_in_order);
    } else if (silent_at <= back_at) {
      event = lose_silent(*silent);
    } else {
      event = ClusterEvent{.at = back->at, .kind = EventKind::kJoins, .worker = back->id};
      returns_.erase(back);
      event = members.has(event->process()) ? std::nullopt : event;  // its place is taken
    }
    if (event) {
      return event;
    }
  }
}

// The first of them that is still there.
std::optional<ClusterEvent> MemberEvents::take_leaving(const Present& members) {
  while (!leaving_.empty()) {
    const int id = leaving_.front();
    leaving_.erase(leaving_.begin());
    if (members.workers.has(id)) {
      return ClusterEvent{.at = taken_until_, .kind = EventKind::kLeaves, .worker = id};
    }
  }
  return std::nullopt;
}

// nullopt if nothing changes for now.
std::optional<ClusterEvent> MemberEvents::apply_planned(const Present& members, bool is_in_order) {
  const std::optional<ClusterEvent> event = event_for(pulled_.front(), members);
  taken_until_ = pulled_.front().at;
  pulled_.pop_front();
  if (event && event->kind == EventKind::kLeaves && !is_in_order) {
    leaving_.push_back(event->worker);
    return std::nullopt;
  }
  if (event && event->kind == EventKind::kFreezes) {
    freeze({event->process(), event->at, event->at + event->seconds});
    return std::nullopt;
  }
  return event;
}

void MemberEvents::freeze(const FrozenTime& time) {
  for (FrozenTime& other : frozen_) {  // one that goes on is one
    if (other.process == time.process && time.from <= other.until) {
      other.until = std::max(other.until, time.until);
      return;
    }
  }
  frozen_.push_back(time);
}

std::optional<ClusterEvent> MemberEvents::lose_silent(const FrozenTime& silent) {
  const ProcessId process = silent.process;
  std::erase_if(frozen_, [&](const FrozenTime& each) { return each.process == process; });
  ClusterEvent event{.at = silent.from + heartbeat_, .kind = EventKind::kDies};
  if (process.kind == ProcessKind::kServer) {
    event.server = process.id;
  } else {
    event.worker = process.id;
    returns_.push_back({process.id, silent.until});
  }
  return event;
}

void MemberEvents::respawn(int id, Seconds at) {
  const bool comes_back = std::ranges::count(returns_, id, &Return::id) > 0;
  if (!comes_back && respawns_[id] < respawns_most_) {
    ++respawns_[id];
    returns_.push_back({id, at + kRespawn});
  }
}

std::optional<Seconds> MemberEvents::next_join(Seconds until) {
  while (plan_.peek() && plan_.peek()->at <= until && pulled_.size() < kLookAhead) {
    pull();
  }
  std::optional<Seconds> first;
  const auto look_at = [&](Seconds at) {
    if (at <= until) {
      first = first ? std::min(*first, at) : at;
    }
  };
  for (const ClusterEvent& event : pulled_) {
    if (event.kind == EventKind::kJoins) {
      look_at(event.at);
    }
  }
  for (const Return& each : returns_) {
    look_at(each.at);
  }
  return first;
}

void MemberEvents::skip_until(Seconds now) {
  taken_until_ = now;
  plan_.skip_until(now);
}

void MemberEvents::state(Archive& archive) {
  std::vector<std::int64_t> respawns;
  for (const auto& [id, count] : respawns_) {
    respawns.insert(respawns.end(), {id, count});
  }
  archive("taken_until", taken_until_);
  archive("frozen", frozen_);
  archive("returns", returns_);
  archive("leaving", leaving_);
  archive("respawns", respawns);
  if (!archive.is_saving()) {
    respawns_.clear();
    for (std::size_t i = 0; i + 1 < respawns.size(); i += 2) {
      respawns_[static_cast<int>(respawns[i])] = static_cast<int>(respawns[i + 1]);
    }
    skip_until(taken_until_);
  }
}

}  // namespace motley
