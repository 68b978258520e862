#include "runtime/run/succession.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/run/member_job.h"
#include "runtime/run/membership.h"

namespace motley {
namespace {

constexpr const char* kResultPart = "training.result";

bool is_behind(const Continuation& next, Rank rank) {
  return std::ranges::count(next.behind, rank) > 0;
}

// What the lost ones had is gone.
void forget_lost(State& state, const EndedTerm& ended) {
  const auto workers = static_cast<Rank>(ended.members.workers.size());
  const auto servers = static_cast<Rank>(ended.members.servers.size());
  for (Rank rank = 0; rank < workers + servers; ++rank) {
    const bool is_worker = rank < workers;
    const auto& ids = is_worker ? ended.members.workers : ended.members.servers;
    const int id = ids[static_cast<std::size_t>(is_worker ? rank : rank - workers)];
    if (!ended.has_lost(is_worker ? ProcessKind::kWorker : ProcessKind::kServer, id)) {
      continue;
    }
    const std::string path = path_of_process(workers, rank);
    const State totals = state.part(fmt::format("{}.{}", path, kResultPart));
    state.erase(path);
    if (!totals.empty()) {
      state.put(fmt::format("{}.{}", path, kResultPart), totals);
    }
  }
}

}  // namespace

TermMembers members_of_term(const Job& run, const std::vector<int>& workers,
                            const std::vector<int>& servers) {
  return {workers, servers_of_members(run, static_cast<int>(workers.size()), servers)};
}

Job job_of(const Job& run, const TermMembers& members) {
  return job_of_members(run, members.workers, members.servers);
}

RecordPlace record_place(const TermMembers& members, Rank rank) {
  if (rank < 0) {
    return rank;  // the coordinator, or anybody
  }
  const auto index = static_cast<std::size_t>(rank);
  if (index < members.workers.size()) {
    return members.workers[index];
  }
  const std::size_t server = index - members.workers.size();
  return server < members.servers.size()
             ? record_place({ProcessKind::kServer, members.servers[server]})
             : kAnyRank;
}

void put_in_places(JournalEntries& entries, const TermMembers& members) {
  for (Exchange& exchange : entries.exchanges) {
    exchange.from = record_place(members, exchange.from);
  }
}

Activity in_place(Activity activity, const TermMembers& members) {
  activity.waits_for = record_place(members, activity.waits_for);
  return activity;
}

std::set<int> of_kind(const std::set<ProcessId>& processes, ProcessKind kind) {
  std::set<int> ids;
  for (const ProcessId& process : processes) {
    if (process.kind == kind) {
      ids.insert(process.id);
    }
  }
  return ids;
}

StateChange change_after(const EndedTerm& ended, const TermMembers& next) {
  StateChange change{.members = change_of(ended.members.workers, next.workers,
                                          of_kind(ended.lost, ProcessKind::kWorker)),
                     .ids = next.workers,
                     .servers = change_of(ended.members.servers, next.servers,
                                          of_kind(ended.lost, ProcessKind::kServer)),
                     .is_cut_off = ended.cut_off.has_value()};
  for (Rank rank = 0; ended.cut_off && rank < change.members.before; ++rank) {
    change.undone.push_back(!is_behind(*ended.cut_off, rank));
  }
  return change;
}

std::vector<bool> models_needed(const EndedTerm& ended, const TermMembers& next) {
  const StateChange change = change_after(ended, next);
  const auto& previous = change.members.previous;
  const bool has_newcomers = std::ranges::count(previous, std::optional<Rank>()) > 0;
  // Those who leave in order leave their model to all.
  const auto leaves = [&](Rank rank) {
    return !ended.has_lost(ProcessKind::kWorker,
                           ended.members.workers[static_cast<std::size_t>(rank)]);
  };
  const bool is_mean = has_newcomers || std::ranges::any_of(change.members.gone(), leaves);
  std::vector<bool> needed;
  for (Rank rank = 0; rank < change.members.before; ++rank) {
    const bool is_newest = ended.cut_off && ended.cut_off->newest == rank;
    const bool catches_up = ended.cut_off && is_behind(*ended.cut_off, rank);
    needed.push_back(leaves(rank) && (is_mean || is_newest || catches_up));
  }
  return needed;
}

State state_of_successors(State state, const EndedTerm& ended, const TermMembers& next,
                          std::int64_t training_samples) {
  if (ended.cut_off) {
    take_newest(state, static_cast<int>(ended.members.workers.size()), *ended.cut_off);
  }
  forget_lost(state, ended);
  return fitted(state, job_of(ended.run, next), training_samples, change_after(ended, next));
}

void cut_term_off(RunPosition& position, const Job& job, std::int64_t training_samples,
                  const Continuation& next) {
  position.losses.add(next.losses);
  position.end_term(job, training_samples, next.used);
  position.term.owed = next.owed;
  position.own_updates = next.own_updates;
  position.only_served = next.only_served;
}

}  // namespace motley
