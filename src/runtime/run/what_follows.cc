#include "runtime/run/what_follows.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "runtime/run/run_position.h"

namespace motley {
namespace {

Continuation after_common_steps(const CutOff& cut) {
  Continuation next;
  std::optional<Rank> newest;
  const auto used_by = [&](Rank rank) {
    return cut.survivors[static_cast<std::size_t>(rank)]->settled.used;
  };
  const Rank workers = static_cast<Rank>(cut.survivors.size());
  for (Rank rank = 0; rank < workers; ++rank) {
    if (cut.survivors[static_cast<std::size_t>(rank)] &&
        (!newest || used_by(rank) > used_by(*newest))) {
      newest = rank;
    }
  }
  MOTLEY_CHECK(newest, "nobody of {} workers has survived", workers);
  next.used = used_by(*newest);
  for (Rank rank = 0; rank < workers; ++rank) {
    if (cut.survivors[static_cast<std::size_t>(rank)] && used_by(rank) < next.used) {
      next.behind.push_back(rank);
      next.newest = newest;
    }
  }
  next.owed = owed_after(cut.ledger, next.used);
  next.losses.samples_redealt = Ledger(cut.ledger).step_after(next.used).count;
  next.reason = next.behind.empty()
                    ? fmt::format("the step after {} samples is done again", next.used)
                    : fmt::format("worker {} has taken the step to {} samples: {} take its model",
                                  *newest, next.used, next.behind.size());
  return next;
}

// What the worker says, and otherwise what the coordinator knows. It may not know the last commit.
OwnUpdates own_updates(const CutOff& cut, Rank rank) {
  OwnUpdates own = cut.dealings.own(rank);
  if (const auto& survivor = cut.survivors[static_cast<std::size_t>(rank)]) {
    own.unshared = survivor->settled.unshared.value_or(own.unshared);
    own.served += survivor->settled.served.value_or(0);
  }
  return own;
}

bool has_pulled(const CutOff& cut, Rank rank) {
  const auto& survivor = cut.survivors[static_cast<std::size_t>(rank)];
  return cut.dealings.has_pulled(rank) || (survivor && survivor->settled.served);
}

// Updates that only a lost worker and servers had are lost with a server, now or later. Whoever has
// pulled in the term has what was there before.
void note_own_updates(const CutOff& cut, Continuation& next) {
  const auto workers = static_cast<Rank>(cut.survivors.size());
  bool is_pulled = false;
  for (Rank rank = 0; rank < workers; ++rank) {
    const bool is_left = cut.survivors[static_cast<std::size_t>(rank)].has_value();
    is_pulled = is_pulled || (is_left && has_pulled(cut, rank));
  }
  next.only_served = is_pulled ? 0 : cut.only_served;
  for (Rank rank = 0; rank < workers; ++rank) {
    OwnUpdates own = own_updates(cut, rank);
    own.served = is_pulled && !has_pulled(cut, rank) ? 0 : own.served;
    if (!cut.survivors[static_cast<std::size_t>(rank)]) {
      next.losses.updates_lost += own.unshared;
      next.only_served += own.served;
      own = {};
    }
    next.own_updates.push_back(own);
  }
  if (!cut.lost_servers.empty()) {
    next.losses.updates_lost += std::exchange(next.only_served, 0);
  }
}

Continuation at_own_pace(const CutOff& cut) {
  Continuation next;
  if (!cut.dealings.are_dealt()) {  // the term had not begun
    return {.used = cut.ledger.begin, .owed = cut.ledger.owed, .reason = "the term had not begun"};
  }
  std::vector<SampleRange> open;
  for (std::size_t i = 0; i < cut.survivors.size(); ++i) {
    const auto rank = static_cast<Rank>(i);
    const auto& survivor = cut.survivors[i];
    const std::int64_t done = survivor ? survivor->iterations : cut.dealings.known_iterations(rank);
    const std::vector<SampleRange> its = cut.dealings.outstanding(rank, done);
    open.insert(open.end(), its.begin(), its.end());
    if (survivor) {
      next.losses.samples_repeated += survivor->settled.repeated;
    }
  }
  note_own_updates(cut, next);
  const std::int64_t dealt = cut.ledger.begin + cut.dealings.dealt();
  next.losses.samples_redealt = count_of(open);
  next.used = dealt - next.losses.samples_redealt;
  const std::vector<SampleRange> rest = owed_after(cut.ledger, dealt);
  open.insert(open.end(), rest.begin(), rest.end());
  next.owed = joined(std::move(open));
  next.reason =
      fmt::format("{} samples that nobody has used are dealt again", next.losses.samples_redealt);
  return next;
}

}  // namespace

void take_newest(State& state, int workers, const Continuation& next) {
  for (const Rank rank : next.behind) {
    const std::string path = path_of_process(workers, rank) + ".replica";
    const State own = state.part(path);
    State model = state.part(path_of_process(workers, *next.newest) + ".replica");
    for (const auto& [name, tensor] : own.tensors) {
      if (tensor.type == ElementType::kUint8) {
        model.tensors[name] = tensor;
      }
    }
    state.put(path, std::move(model));
  }
}

Continuation what_follows(const CutOff& cut) {
  const bool is_together = cut.advance == Advance::kTogether;
  Continuation next = is_together ? after_common_steps(cut) : at_own_pace(cut);
  if (!cut.lost_servers.empty()) {
    next.reason += fmt::format(
        "; {} {} {} anew {}", cut.lost_servers.size() > 1 ? "servers" : "server",
        fmt::join(cut.lost_servers, ", "), cut.lost_servers.size() > 1 ? "begin" : "begins",
        is_together ? "with an empty sum" : "with the newest values that workers have pulled");
  }
  return next;
}

}  // namespace motley
