#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "runtime/coordinator/coordinator_impl.h"
#include "runtime/run/member_job.h"

namespace motley {
namespace {

constexpr const char* kReplicaPart = ".replica";
constexpr const char* kResultPart = ".training.result";

// What is known of a worker that is gone.
State result_of_lost(const ProcessState& lost) {
  WorkerResult result;
  result.samples = lost.figures.samples;
  result.steps = lost.figures.steps;
  result.times.compute = lost.figures.compute;
  result.times.communicate = lost.figures.communicate;
  result.times.wait = lost.figures.wait;
  result.times.seconds = result.times.compute + result.times.communicate + result.times.wait;
  return state_of(result);
}

}  // namespace

// Until all who take part in the next term are prepared for it.
void Coordinator::Impl::prepare_next() {
  while (true) {
    let_leavers_go();
    wait_for_enough();
    admit_newcomers();
    throw_if_nobody_is_left();
    if (!fetch_models()) {
      continue;
    }
    plan();
    watch_until([&] { return is_broken() || roster_.all_members(&ProcessState::prepared); });
    if (!is_broken()) {
      return;
    }
    cut_off();
    ++position_.term.number;
  }
}

// Servers that were started again are waited for: nothing of what they had goes on without them.
bool Coordinator::Impl::awaits_servers() const {
  return std::ranges::any_of(roster_.processes(), [&](const auto& item) {
    const ProcessState& state = item.second;
    return state.is_server && state.pid != 0 && !state.ready && !state.can_leave &&
           !roster_.is_member(item.first);
  });
}

bool Coordinator::Impl::has_enough() {
  admit_newcomers();
  const bool has_servers = servers_of(run_job_) == 0 || server_membership_.size() > 0;
  const int workers = membership_.size();
  const int enough = logic_.stopped() ? 1 : std::max(run_job_.cluster.min_workers, 1);
  return workers >= enough && has_servers;
}

void Coordinator::Impl::wait_for_enough() {
  const ClusterSpec& cluster = run_job_.cluster;
  const Seconds patience = node_.now() + cluster.rejoin_timeout;
  watch_until([&] { return !awaits_servers() || node_.now() > patience; });
  if (has_enough()) {
    return;
  }
  throw_if_nobody_is_left();
  save_before_waiting();
  decide(membership_.size() < cluster.min_workers
             ? fmt::format("waits for workers: {} of at least {} are left", membership_.size(),
                           cluster.min_workers)
             : "waits for a server",
         "");
  while (!has_enough() && node_.now() <= patience) {
    watch_until([&] { return has_enough() || !leavers().empty() || node_.now() > patience; });
    let_leavers_go();
  }
  if (!has_enough()) {
    const bool has_servers = servers_of(run_job_) == 0 || server_membership_.size() > 0;
    throw RunFailed(fmt::format(
        "{}, and nobody has joined for {:g} s (cluster.rejoin_timeout){}",
        has_servers ? fmt::format("{} of at least {} workers are left", membership_.size(),
                                  cluster.min_workers)
                    : "no server is left",
        cluster.rejoin_timeout,
        monitor_.wants_checkpoints() ? "; go on with --resume when there are more" : ""));
  }
}

// Those who are left may not be enough for long.
void Coordinator::Impl::save_before_waiting() {
  if (!monitor_.wants_checkpoints() || membership_.size() == 0 ||
      refusal_of_members(run_job_, membership_.ids(), server_membership_.ids())) {
    return;
  }
  while (!fetch(held_survivors())) {
    throw_if_nobody_is_left();
  }
  monitor_.on_checkpoint(position_.term.begin, state_of_next());
}

// Somebody must have the model that the others begin with.
void Coordinator::Impl::throw_if_nobody_is_left() const {
  if (held_survivors().empty()) {
    throw RunFailed(why_broken_ + ", and nobody is left");
  }
}

void Coordinator::Impl::admit_newcomers() {
  const auto processes = roster_.processes();  // as they are now: a refusal changes them
  for (const auto& [process, state] : processes) {
    const bool comes_too_late = logic_.stopped() && !state.is_server;
    if (state.ready && !state.admitted && !comes_too_late && is_candidate(process)) {
      admit(process);
    }
  }
}

void Coordinator::Impl::admit(Rank process) {
  ProcessState& state = roster_[process];
  if (state.is_server) {
    if (server_membership_.has(state.id) || state.id >= servers_of(run_job_)) {
      return refuse(process, "this server is there already");
    }
    server_membership_.join(state.id, node_.now(), "joined");
  } else {
    const bool is_taken = state.id < 0 || membership_.has(state.id);
    const int id = is_taken ? membership_.lowest_free() : state.id;
    if (held_ && std::ranges::count(held_->members.workers, id) > 0) {
      lost_.insert(
          {ProcessKind::kWorker, id});  // it is another worker now, which knows nothing yet
    }
    std::vector<int> ids = membership_.ids();
    ids.insert(std::ranges::lower_bound(ids, id), id);
    if (const auto why = refusal_of_members(run_job_, ids)) {
      return refuse(process, *why);
    }
    state.id = id;
    membership_.join(id, node_.now(), "joined");
  }
  state.admitted = true;
  decide(fmt::format("{} joins", members_.describe(process)), "");
}

// A newcomer begins with the model of the others: with common steps all have the same one, at
// their own pace it is the mean of all.
bool Coordinator::Impl::fetch_models() {
  const auto& ids = membership_.ids();
  if (std::ranges::none_of(ids, [&](int id) { return is_newcomer(id); })) {
    return true;
  }
  std::vector<Rank> sources = held_survivors();
  std::erase_if(sources, [&](Rank process) { return held_->stale.contains(process); });
  if (method_of(job_).advance == Advance::kTogether) {
    const bool is_here = std::ranges::any_of(held_->processes, [&](Rank process) {
      return roster_.contains(process) && has_model(process);
    });
    sources.resize(is_here ? 0 : std::min<std::size_t>(sources.size(), 1));
  }
  return fetch(sources);
}

bool Coordinator::Impl::is_newcomer(int id) const {
  return std::ranges::count(held_->members.workers, id) == 0 ||
         lost_.contains({ProcessKind::kWorker, id});
}

TermMembers Coordinator::Impl::members_now() const {
  return members_of_term(run_job_, membership_.ids(), server_membership_.ids());
}

EndedTerm Coordinator::Impl::ended() const {
  return {.run = run_job_,
          .job = job_,
          .members = held_->members,
          .lost = lost_,
          .cut_off = held_->cut_off};
}

// The state of the run for those who are members now.
State Coordinator::Impl::state_of_next() {
  State state = held_->state;
  for (std::size_t rank = 0; rank < held_->members.workers.size(); ++rank) {
    const Rank process = held_->processes[rank];
    if (!roster_.contains(process)) {
      state.erase(held_path(process));
      state.put(held_path(process) + kResultPart, result_of_lost(known(process)));
    }
  }
  state.put("run", position_state(held_->processes, held_->members.workers));
  return state_of_successors(std::move(state), ended(), members_now(), dataset_);
}

// Those who leave now. The last one that has a model stays.
std::vector<Rank> Coordinator::Impl::leavers() const {
  std::vector<Rank> leavers = held_survivors();
  const std::size_t survivors = leavers.size();
  std::erase_if(leavers, [&](Rank process) { return !roster_[process].wants_to_leave; });
  const bool may_leave = held_->may_leave && !logic_.stopped() && survivors > 0;
  leavers.resize(may_leave ? std::min(leavers.size(), survivors - 1) : 0);
  return leavers;
}

// The models that they have of their own stay here.
void Coordinator::Impl::let_leavers_go() {
  const bool have_own_models = method_of(job_).advance == Advance::kAtOwnPace;
  while (have_own_models && !leavers().empty() && !fetch(held_survivors())) {
    throw_if_nobody_is_left();
  }
  for (const Rank process : leavers()) {
    membership_.leave(roster_[process].id, node_.now(), kLeftInOrder);
    release(process);
  }
}

// Makes the next term of those who are there, and tells them.
void Coordinator::Impl::plan() {
  State next = state_of_next();
  const int workers_before = job_.cluster.workers;
  const Held before = std::move(*held_);
  term_members_ = members_now();
  job_ = job_of(run_job_, term_members_);
  restore_position(next, job_, position_, logic_);
  service_kept_.state() = next.part("service");
  logic_.set_workers(job_.cluster.workers);
  held_.emplace(Held{{}, next_members(), term_members_, {}, {}, {}, false});
  const std::vector<State> parts = parts_for_members(next, before, workers_before);
  held_->state = std::move(next);
  lost_.clear();
  gone_.clear();
  roster_.set_members(held_->processes);
  announce(parts);
}

// The processes of the next term, by rank.
std::vector<Rank> Coordinator::Impl::next_members() const {
  std::vector<Rank> members;
  const auto add = [&](ProcessKind kind, int id) {
    const auto process = roster_.taking_part({kind, id});
    MOTLEY_CHECK(process, "nobody is {} {}", name_of(kind), id);
    members.push_back(*process);
  };
  for (const int id : term_members_.workers) {
    add(ProcessKind::kWorker, id);
  }
  for (const int id : term_members_.servers) {
    add(ProcessKind::kServer, id);
  }
  return members;
}

// What each member gets of the state with which the next term begins. A worker whose own model is
// the one in the state does not get it again. Notes whose is not.
std::vector<State> Coordinator::Impl::parts_for_members(const State& next, const Held& before,
                                                        int workers_before) {
  std::vector<State> parts;
  for (std::size_t rank = 0; rank < held_->processes.size(); ++rank) {
    const Rank process = held_->processes[rank];
    State part = next.part(path_of_process(job_.cluster.workers, static_cast<Rank>(rank)));
    const auto was = std::ranges::find(before.processes, process);
    const bool is_new = was == before.processes.end() || before.without_model.contains(process);
    if (is_new) {
      held_->without_model.insert(process);
    }
    if (part.has("replica")) {
      const auto rank_before = static_cast<Rank>(was - before.processes.begin());
      const bool has_it = !is_new && !before.stale.contains(process) &&
                          before.state.part(path_of_process(workers_before, rank_before) +
                                            kReplicaPart) == part.part("replica");
      if (has_it) {
        part.erase("replica");
      } else {
        held_->stale.insert(process);
      }
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

// `parts`: of the members' states, by rank; none if they begin a new run.
void Coordinator::Impl::announce(const std::vector<State>& parts) {
  NextTermInfo next = next_term();
  for (std::size_t rank = 0; rank < roster_.members().size(); ++rank) {
    const Rank process = roster_.members()[rank];
    NextTermInfo own = next;
    own.has_state = !parts.empty();
    own.keeps_random = held_ && !held_->without_model.contains(process);
    for (const auto& [one, other] : mends_) {
      if (one == process || other == process) {
        own.reconnect.push_back(one == process ? other : one);
      }
    }
    control_.tell(process, Control::kNextTerm, encode(own));
    if (own.has_state) {
      state_sender_.send(process, position_.term.number,
                         std::make_shared<const State>(parts[rank]));
    }
  }
  dropped_.clear();
  mends_.clear();
}

NextTermInfo Coordinator::Impl::next_term() const {
  NextTermInfo next;
  next.term = position_.term;
  next.is_first = !held_ && !gathering_.resume;
  next.gone = dropped_;
  for (const Rank process : roster_.members()) {
    const ProcessState& state = roster_[process];
    (state.is_server ? next.members.servers : next.members.workers)
        .push_back({process, state.id, *state.endpoint});
  }
  return next;
}

void Coordinator::Impl::begin_checkpoint(std::int64_t number) {
  State own;
  own.put("run", position_state(roster_.members(), position_.ids));
  own.put("service", service_kept_.state());
  checkpoint_.begin(number, CheckpointAssembly(job_.cluster.workers, position_.term.begin,
                                               std::move(own), roster_.members()));
}

// The part "run" of a state of these members.
State Coordinator::Impl::position_state(const std::vector<Rank>& processes, std::vector<int> ids) {
  RunPosition position = position_;
  position.bytes_sent = all_bytes_sent(processes);
  position.ids = std::move(ids);
  position.members = history();
  return save_position(job_, std::move(position), logic_);
}

std::vector<MemberRecord> Coordinator::Impl::history() const {
  std::vector<MemberRecord> all = membership_.history();
  const auto& servers = server_membership_.history();
  all.insert(all.end(), servers.begin(), servers.end());
  return all;
}

std::vector<std::int64_t> Coordinator::Impl::all_bytes_sent(
    const std::vector<Rank>& processes) const {
  std::vector<std::int64_t> all;
  for (const Rank process : processes) {
    all.push_back(known(process).bytes_before + known(process).bytes_sent);
  }
  return all;
}

// Also of a process that is gone.
const ProcessState& Coordinator::Impl::known(Rank process) const {
  return roster_.contains(process) ? roster_[process] : gone_.at(process);
}

Rank Coordinator::Impl::held_rank(Rank process) const {
  return static_cast<Rank>(std::ranges::find(held_->processes, process) - held_->processes.begin());
}

std::string Coordinator::Impl::held_path(Rank process) const {
  return path_of_process(job_.cluster.workers, held_rank(process));
}

bool Coordinator::Impl::has_model(Rank process) const {
  return held_->state.has(held_path(process) + kReplicaPart);
}

// The workers that had a part in the last term and are still here, to stay, and have a model.
std::vector<Rank> Coordinator::Impl::held_survivors() const {
  std::vector<Rank> survivors;
  for (std::size_t rank = 0; rank < held_->members.workers.size(); ++rank) {
    const Rank process = held_->processes[rank];
    const bool is_here = roster_.contains(process) && !roster_[process].can_leave;
    if (is_here && !held_->without_model.contains(process)) {
      survivors.push_back(process);
    }
  }
  return survivors;
}

std::vector<Rank> Coordinator::Impl::workers_of_term() const {
  const std::vector<Rank>& all = roster_.members();
  return {all.begin(), all.begin() + job_.cluster.workers};
}

bool Coordinator::Impl::is_candidate(Rank process) const {
  const ProcessState& state = roster_[process];
  return !state.can_leave && !state.admitted && !roster_.is_member(process);
}

// Somebody wants to join or to leave.
bool Coordinator::Impl::is_change_due() const {
  return std::ranges::any_of(roster_.processes(), [&](const auto& item) {
    const auto& [process, state] = item;
    const bool leaves = state.wants_to_leave && roster_.is_member(process);
    return (is_candidate(process) && state.ready) || (leaves && job_.cluster.workers > 1);
  });
}

void Coordinator::Impl::decide(const std::string& what, const std::string& why) {
  service_journal_.add({node_.now(), "members", what, why});
  monitor_.on_notice(what);
  term_log_.decided(what, why);
}

}  // namespace motley
