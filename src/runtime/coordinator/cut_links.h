// CutLinks: connections between two members that broke although both still reach the coordinator.
// A process that died is noticed in other ways soon, so a report waits for kGrace. Then the two are
// to connect anew, if they reach each other, in a term with the same members; if their connection
// breaks again soon, one of them has to go. Pure: time is passed in.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "motley/base/ids.h"

namespace motley {

class CutLinks {
 public:
  static constexpr Seconds kGrace = 0.5;
  // A connection that was made anew has to hold for so long.
  explicit CutLinks(Seconds proof) : proof_(proof) {}

  struct Verdict {
    Rank one = kAnyRank;
    Rank other = kAnyRank;
    std::string why;
    bool goes = false;  // one of them has to go
  };

  // `from` has no connection to `to` any more.
  void hear(Rank from, Rank to, const std::string& why, Seconds now) {
    broken_.emplace(pair_of(from, to), Report{why, now});
  }
  // This process is gone, so its connections are no matter.
  void forget(Rank process) {
    std::erase_if(broken_, [&](const auto& item) {
      return item.first.first == process || item.first.second == process;
    });
  }
  // What to do about the first pair whose time has come; asked again, about the next one.
  std::optional<Verdict> verdict(Seconds now) {
    const auto due = std::ranges::find_if(
        broken_, [&](const auto& item) { return now - item.second.since >= kGrace; });
    if (due == broken_.end()) {
      return std::nullopt;
    }
    const auto [one, other] = due->first;
    const auto before = mended_.find(due->first);
    const bool again = before != mended_.end() && now - before->second < proof_;
    mended_[due->first] = now;
    Verdict verdict{one, other, std::move(due->second.why), again};
    broken_.erase(due);
    return verdict;
  }

 private:
  using Pair = std::pair<Rank, Rank>;
  struct Report {
    std::string why;
    Seconds since = 0;
  };

  static Pair pair_of(Rank one, Rank other) { return std::minmax(one, other); }

  const Seconds proof_;
  std::map<Pair, Report> broken_;
  std::map<Pair, Seconds> mended_;  // when last
};

// Who has to go so that nobody is left who does not reach somebody else: workers rather than
// `servers`, which have what nobody else has; those first that do not reach the most; of several,
// the one with the highest number. `host` cannot go.
inline std::vector<Rank> who_goes(std::vector<std::pair<Rank, Rank>> cut,
                                  const std::set<Rank>& servers, std::optional<Rank> host) {
  std::vector<Rank> going;
  while (!cut.empty()) {
    std::map<Rank, int> counts;
    for (const auto& [one, other] : cut) {
      ++counts[one];
      ++counts[other];
    }
    std::erase_if(counts, [&](const auto& item) { return item.first == host; });
    const auto cost = [&](const auto& item) {
      return std::tuple(servers.contains(item.first), -item.second, -item.first);
    };
    const auto next = std::ranges::min_element(counts, {}, cost);
    if (next == counts.end()) {
      break;  // a process that does not reach itself
    }
    going.push_back(next->first);
    std::erase_if(cut, [&](const auto& pair) {
      return pair.first == next->first || pair.second == next->first;
    });
  }
  return going;
}

}  // namespace motley
