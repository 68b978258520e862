// Members of a simulated run are lost, leave and come.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "motley/sync/method.h"
#include "runtime/run/fit_state.h"
#include "runtime/simulate/simulation.h"

namespace motley {
namespace {

// From the loss of a member until the others go on (docs/elastic.md).
constexpr Seconds kRecovery = 0.05;
constexpr int kLargestId = 65535;
constexpr const char* kWasLost = "was lost";

std::string in_words(const std::set<ProcessId>& processes) {
  std::vector<std::string> all;
  for (const ProcessId& process : processes) {
    all.push_back(fmt::format("{} {}", name_of(process.kind), process.id));
  }
  return fmt::format("{}", fmt::join(all, ", "));
}

}  // namespace

// A run that loses members goes on from a checkpoint with those it had then, if these are enough
// and the job has not changed in other ways.
void Simulation::go_on_with_saved_members(const State& from) {
  RunPosition saved;
  restore(saved, from.part("run"));
  const bool is_sound = !saved.ids.empty() && std::ranges::is_sorted(saved.ids) &&
                        saved.ids.front() >= 0 && saved.ids.back() <= kLargestId;
  const bool is_enough = std::ssize(saved.ids) >= run_job_.cluster.min_workers;
  if (!has_member_events_ || !is_sound || !is_enough) {
    return;
  }
  const TermMembers members = members_of_term(run_job_, saved.ids, all_servers(run_job_));
  Job job = job_of(run_job_, members);
  if (shape_of(job) == saved_shape(from)) {
    job_ = std::move(job);
    term_members_ = members;
    logic_.set_workers(job_.cluster.workers);
    take_over(MemberChange::first_stay(0, job_.cluster.workers),
              MemberChange::first_stay(0, servers_of(job_)));
  }
}

void Simulation::plan_member_events() {
  outlook_ = has_member_events_ ? member_events_.outlook(present()) : Outlook{};
  if (outlook_.loss) {
    cluster_->stop_at(*outlook_.loss, "a member was lost");
  }
  for (const FrozenTime& frozen : outlook_.frozen) {
    if (const auto rank = rank_of(frozen.process)) {
      cluster_->freeze(*rank, frozen.from, frozen.until);
    }
  }
}

// In the term; nullopt if it has no part in it.
std::optional<Rank> Simulation::rank_of(ProcessId process) const {
  const bool is_worker = process.kind == ProcessKind::kWorker;
  const std::vector<int>& ids = is_worker ? term_members_.workers : term_members_.servers;
  const auto found = std::ranges::find(ids, process.id);
  const auto place = static_cast<std::size_t>(found - ids.begin());
  return found == ids.end() ? std::nullopt
         : is_worker        ? std::optional(static_cast<Rank>(place))
                            : std::optional(rank_of_server(place));
}

bool Simulation::is_change_due() const {
  return outlook_.change && *outlook_.change <= cluster_->now();
}

// Members were lost at this moment. The others go on from where they are.
void Simulation::go_on_without_lost() {
  std::vector<std::optional<Survivor>> survivors;
  for (auto& worker : workers_) {
    survivors.push_back(worker->settle());
    if (!survivors.back()) {
      throw RunFailed(fmt::format(
          "a worker was lost, and the method \"{}\" cannot go on without it", job_.strategy.sync));
    }
    if (worker->training) {
      tell_news(*worker, worker->training->so_far());
    }
  }
  position_.seconds = cluster_->now();
  apply_events(false);
  if (!run_job_.cluster.elastic && !lost_.empty()) {
    throw RunFailed(
        fmt::format("{} was lost (cluster.elastic = false)", in_words({*lost_.begin()})));
  }
  for (const auto& worker : workers_) {
    if (lost_.contains({ProcessKind::kWorker, worker->id})) {
      survivors[static_cast<std::size_t>(worker->rank)].reset();
    }
  }
  throw_if_nobody_is_left();
  const std::set<int> servers = of_kind(lost_, ProcessKind::kServer);
  const Continuation next = what_follows({.advance = method_of(job_).advance,
                                          .ledger = ledger(),
                                          .survivors = survivors,
                                          .dealings = dealings_,
                                          .lost_servers = {servers.begin(), servers.end()},
                                          .only_served = position_.only_served});
  decide(fmt::format("goes on without {}", in_words(lost_)), next.reason);
  term_log_.cut_off();
  begin_anew();
  cut_term_off(position_, job_, training_samples_, next);
  position_.seconds += kRecovery;
  go_on_with_members(whole_state(), next);
}

// Of the workers of the last term somebody must be there: the others begin with their model.
void Simulation::throw_if_nobody_is_left() const {
  const std::set<int> lost = of_kind(lost_, ProcessKind::kWorker);
  if (std::ranges::all_of(term_members_.workers, [&](int id) { return lost.contains(id); })) {
    throw RunFailed(fmt::format("worker {} was lost, and nobody is left", *lost.rbegin()));
  }
}

// The term has ended in order.
void Simulation::change_in_order() {
  apply_events(true);
  go_on_with_members(whole_state(), std::nullopt);
}

// What has happened to members by now.
void Simulation::apply_events(bool is_in_order) {
  const Seconds now = position_.seconds;
  while (const auto event = member_events_.next(now, present(), is_in_order)) {
    if (event->kind == EventKind::kJoins) {
      admit(event->worker);
    } else if (event->kind == EventKind::kLeaves) {
      members_.leave(event->worker, now, kLeftInOrder);
      decide(fmt::format("worker {} leaves", event->worker), "");
    } else {
      lose(event->process());
    }
  }
  tell_members();
}

// A server has no work of its own to go on with, so the others wait until it is there again.
void Simulation::lose(ProcessId process) {
  const Seconds now = position_.seconds;
  lost_.insert(process);
  if (process.kind == ProcessKind::kWorker) {
    members_.leave(process.id, now, kWasLost);
    member_events_.respawn(process.id, now);
  } else {
    server_members_.leave(process.id, now, kWasLost);
    server_members_.join(process.id, now, "was started again");
  }
}

void Simulation::admit(int id) {
  std::vector<int> ids = members_.ids();
  ids.insert(std::ranges::lower_bound(ids, id), id);
  if (const auto why = refusal_of_members(run_job_, ids)) {
    decide(fmt::format("worker {} may not join", id), *why);
    return;
  }
  members_.join(id, position_.seconds, "joined");
  decide(fmt::format("worker {} joins", id), "");
}

void Simulation::wait_for_enough(const State& state, const std::optional<Continuation>& cut_off) {
  const ClusterSpec& cluster = run_job_.cluster;
  const int enough = std::max(cluster.min_workers, 1);
  if (checkpoints() && members_.size() > 0 && members_.size() < enough) {
    monitor_.on_checkpoint(term().begin, state_of_next(state, cut_off));
  }
  const Seconds patience = position_.seconds + cluster.rejoin_timeout;
  while (members_.size() < enough) {
    const std::optional<Seconds> join = member_events_.next_join(patience);
    if (!join) {
      throw RunFailed(
          fmt::format("{} of at least {} workers are left, and nobody has joined for {:g} s "
                      "(cluster.rejoin_timeout){}",
                      members_.size(), cluster.min_workers, cluster.rejoin_timeout,
                      checkpoints() ? "; go on with --resume when there are more" : ""));
    }
    position_.seconds = std::max(position_.seconds, *join);
    apply_events(!cut_off);
  }
}

// The state of the term that has ended, for those who are there now.
State Simulation::state_of_next(const State& state,
                                const std::optional<Continuation>& cut_off) const {
  return state_of_successors(state, {run_job_, job_, term_members_, lost_, cut_off}, next_members(),
                             training_samples_);
}

void Simulation::go_on_with_members(const State& state,
                                    const std::optional<Continuation>& cut_off) {
  wait_for_enough(state, cut_off);
  throw_if_nobody_is_left();
  const Seconds seconds = position_.seconds;
  const State next = state_of_next(state, cut_off);
  const StateChange change =
      change_after({run_job_, job_, term_members_, lost_, cut_off}, next_members());
  cluster_.reset();
  term_members_ = next_members();
  job_ = job_of(run_job_, term_members_);
  lost_.clear();
  take_over(change.members, *change.servers);
  logic_.set_workers(job_.cluster.workers);
  restore_processes(next);
  position_.seconds = went_on_ = seconds;
}

std::vector<MemberRecord> Simulation::history() const {
  std::vector<MemberRecord> all = members_.history();
  all.insert(all.end(), server_members_.history().begin(), server_members_.history().end());
  return all;
}

void Simulation::decide(const std::string& what, const std::string& why) {
  service_journal_.add({position_.seconds, "members", what, why});
  term_log_.decided(what, why);
}

}  // namespace motley
