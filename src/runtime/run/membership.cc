#include "runtime/run/membership.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/check.h"

namespace motley {

Membership::Membership(int count, ProcessKind kind) : kind_(kind) {
  for (int id = 0; id < count; ++id) {
    join(id, 0, "");
  }
}

bool Membership::has(int id) const { return std::ranges::binary_search(ids_, id); }

int Membership::lowest_free() const {
  int id = 0;
  for (const int taken : ids_) {
    id += taken == id ? 1 : 0;
  }
  return id;
}

void Membership::join(int id, Seconds at, const std::string& why) {
  MOTLEY_CHECK(!has(id), "{} {} is there already", name_of(kind_), id);
  ids_.insert(std::ranges::lower_bound(ids_, id), id);
  ++changes_;
  history_.push_back({.process = {kind_, id}, .joined = at, .left = std::nullopt, .why = why});
}

void Membership::leave(int id, Seconds at, const std::string& why) {
  MOTLEY_CHECK(has(id), "{} {} is not there", name_of(kind_), id);
  std::erase(ids_, id);
  ++changes_;
  for (MemberRecord& member : history_) {
    if (member.process.id == id && !member.left) {
      member.left = at;
      member.why = why;
    }
  }
}

std::optional<double> ideal_rate(const std::vector<MemberRecord>& history,
                                 const ClusterSpec& cluster, Seconds seconds) {
  const bool has_changed = std::ranges::any_of(
      history, [](const MemberRecord& each) { return each.left || each.joined > 0; });
  if (!has_changed || cluster.unit <= 0 || seconds <= 0) {
    return std::nullopt;
  }
  double ideal = 0;
  for (const MemberRecord& member : history) {
    const auto id = static_cast<std::size_t>(member.process.id);
    const double speed = id < cluster.speeds.size() ? cluster.speeds[id] : 1;
    const bool computes = member.process.kind == ProcessKind::kWorker;
    const Seconds there = std::min(member.left.value_or(seconds), seconds) - member.joined;
    ideal += computes ? std::max(there, 0.0) / seconds * speed / cluster.unit : 0;
  }
  return ideal;
}

MemberChange change_of(const std::vector<int>& before, const std::vector<int>& now,
                       const std::set<int>& lost) {
  MemberChange change{.before = static_cast<int>(before.size()), .previous = {}};
  for (const int id : now) {
    const auto found = std::ranges::find(before, id);
    change.previous.push_back(found == before.end() || lost.contains(id)
                                  ? std::nullopt
                                  : std::optional(static_cast<Rank>(found - before.begin())));
  }
  return change;
}

void Membership::go_on(std::vector<int> ids, const std::vector<MemberRecord>& history, Seconds at) {
  const std::string why =
      fmt::format("the run went on from a checkpoint with other {}s", name_of(kind_));
  history_.clear();
  std::ranges::copy_if(history, std::back_inserter(history_),
                       [&](const MemberRecord& each) { return each.process.kind == kind_; });
  ids_.clear();
  for (const MemberRecord& member : history_) {
    if (!member.left) {
      ids_.push_back(member.process.id);
    }
  }
  std::ranges::sort(ids_);
  for (const int id : std::vector<int>(ids_)) {
    if (!std::ranges::binary_search(ids, id)) {
      leave(id, at, why);
    }
  }
  for (const int id : ids) {
    if (!has(id)) {
      join(id, at, why);
    }
  }
}

}  // namespace motley
