#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "runtime/coordinator/coordinator_impl.h"

namespace motley {
namespace {

std::string in_words(const std::set<ProcessId>& processes) {
  std::vector<std::string> names;
  for (const ProcessId& process : processes) {
    names.push_back(fmt::format("{} {}", name_of(process.kind), process.id));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

// The first term of this process's life: of a new run, or of one that is resumed.
void Coordinator::Impl::prepare_first() {
  std::vector<State> parts;
  for (std::size_t rank = 0; gathering_.resume && rank < roster_.members().size(); ++rank) {
    parts.push_back(state_of_process(*gathering_.resume, job_, static_cast<Rank>(rank)));
  }
  announce(parts);
  watch_until([&] { return roster_.all_members(&ProcessState::prepared); });
}

void Coordinator::Impl::begin_term() {
  if (began_ns_ == 0) {
    begin_clock();
  }
  held_.reset();
  lost_.clear();
  gone_.clear();
  position_.seconds = node_.now();
  told_to_cut_ = false;
  tell_members();
  monitor_.on_term(term_log_.next(position_.term.number, position_.seconds, history()));
  dealings_ = dealings_of(job_, dataset_, position_.term, position_.own_updates);
  service_node_.begin_term(static_cast<std::uint16_t>(position_.term.number),
                           {.processes = roster_.members(), .workers = job_.cluster.workers});
  service_ = std::make_unique<MethodService>(service_node_, job_, dataset_, &service_journal_,
                                             members_.machines(), position_.term, &service_kept_,
                                             &dealings_);
  deadlock_.begin_term(roster_.members());
  begin_stall_watch();
  if (logic_.stopped()) {
    service_->request_stop();
    control_.tell_members(Control::kStop, encode(FailedInfo{kAnyRank, *logic_.stopped()}));
  }
  if (!std::exchange(begins_at_once_, false)) {
    control_.tell_members(Control::kBegin,
                          Payload::of_record(BeginInfo{position_.term.number, began_ns_}));
  }
}

// The term is over for all, or it is broken. Returns whether the run is over.
bool Coordinator::Impl::end_term() {
  if (is_broken()) {
    go_on_after_loss();
    return false;
  }
  service_result_ = service_->finish();
  service_.reset();
  const std::int64_t used = std::max(position_.term.begin, roster_.samples_used());
  // A method that takes no steps has done what it came for.
  const bool is_over = logic_.is_over_after(used) || used == position_.term.begin;
  watch_until([&] { return !checkpoint_.has_missing_states() || is_broken(); });
  forget_term();
  position_.end_term(job_, dataset_, used);
  note_time();
  const bool save = checkpoint_.is_wanted(is_over);
  if (is_broken() || (is_change_due() && !is_over)) {
    hold_in_order(save && !is_over);
    prepare_next();
    return false;
  }
  if (is_over) {
    return end_run(save);
  }
  const std::int64_t number = save ? ++requests_ : 0;
  if (save) {
    begin_checkpoint(number);
  }
  begins_at_once_ = true;
  roster_.set_members(roster_.members());
  control_.tell_members(
      Control::kNextTerm,
      encode(NextTermInfo{.term = position_.term, .save = number, .begins_at_once = true}));
  return false;
}

// All agree on the final model. Returns false if somebody is lost meanwhile.
bool Coordinator::Impl::end_run(bool save) {
  const std::int64_t number = save ? ++requests_ : 0;
  if (save) {
    begin_checkpoint(number);
  }
  roster_.set_members(roster_.members());
  tell_to_stop();  // a worker that asked for the end may have ended the term before
  control_.tell_members(
      Control::kNextTerm,
      encode(NextTermInfo{.term = position_.term, .is_over = true, .save = number}));
  watch_until(
      [&] { return is_broken() || (roster_.all_done() && !checkpoint_.has_missing_states()); });
  if (is_broken()) {
    go_on_after_loss();
    return false;
  }
  return true;
}

// What belongs to a term is forgotten when it ends.
void Coordinator::Impl::forget_term() {
  tell_service_news();
  tell_counts();
  logic_.end_term();
  dealings_ = {};
}

void Coordinator::Impl::go_on_after_loss() {
  cut_off();
  hold_after_cut();
  prepare_next();
}

// Every member stops where it is, and says how far that is.
void Coordinator::Impl::cut_off() {
  broken_link_ = false;
  term_log_.cut_off();
  control_.tell_members(Control::kCutOff, encode(CutOffInfo{position_.term.number, why_broken_}));
  if (service_) {
    service_->end();
    service_->rethrow_failure();
    service_.reset();
  }
  watch_until([&] {
    return roster_.all_members([](const auto& each) { return each.settled.has_value(); });
  });
  prove_links();
}

Continuation Coordinator::Impl::continuation() const {
  std::vector<std::optional<Survivor>> survivors;
  for (const Rank process : workers_of_term()) {
    survivors.push_back(roster_.contains(process)
                            ? std::optional(roster_[process].settled->survivor)
                            : std::nullopt);
  }
  const std::set<int> servers = of_kind(lost_, ProcessKind::kServer);
  return what_follows({.advance = method_of(job_).advance,
                       .ledger = ledger(),
                       .survivors = survivors,
                       .dealings = dealings_,
                       .lost_servers = {servers.begin(), servers.end()},
                       .only_served = position_.only_served});
}

void Coordinator::Impl::hold_after_cut() {
  for (const Rank process : workers_of_term()) {
    if (roster_.contains(process) && !roster_[process].settled->goes_on) {
      throw RunFailed(fmt::format(
          "a worker was lost, and the method \"{}\" cannot go on without it", job_.strategy.sync));
    }
  }
  held_.emplace(Held{{}, roster_.members(), term_members_, {}, {}, {}, false});
  throw_if_nobody_is_left();
  collect();
  // Whoever is lost from here on may have been the one that had taken the newest step.
  throw_if_nobody_is_left();
  Continuation next = continuation();
  while (next.newest && !fetch({workers_of_term()[static_cast<std::size_t>(*next.newest)]})) {
    throw_if_nobody_is_left();
    next = continuation();
  }
  decide(lost_.empty() ? "goes on with the same workers" : "goes on without " + in_words(lost_),
         next.reason);
  for (const Rank rank : next.behind) {
    held_->stale.insert(workers_of_term()[static_cast<std::size_t>(rank)]);
  }
  forget_term();
  cut_term_off(position_, job_, dataset_, next);
  held_->cut_off = std::move(next);
  held_->state.put("service", service_kept_.state());
  held_->may_leave = true;
  note_time();
}

// The term has ended in order, and members have changed since.
void Coordinator::Impl::hold_in_order(bool save) {
  held_.emplace(Held{{}, roster_.members(), term_members_, {}, {}, {}, false});
  throw_if_nobody_is_left();
  collect();
  held_->state.put("service", service_kept_.state());
  held_->may_leave = true;
  while (save && !fetch(held_survivors())) {
    throw_if_nobody_is_left();
  }
  if (save && !roster_.is_broken()) {
    State whole = held_->state;
    whole.put("run", position_state(held_->processes, held_->members.workers));
    checkpoint_.add_whole(position_.term.begin, std::move(whole));
  }
}

// Asks all that are left for everything but their models.
void Coordinator::Impl::collect() {
  for (const Rank process : held_->processes) {
    if (roster_.contains(process)) {
      inbox_.expect(process, ++requests_, false);
      control_.tell(process, Control::kCollect,
                    Payload::of_record(CollectInfo{.number = requests_, .model = 0}));
    }
  }
  watch_until([&] { return inbox_.has_all(); });
  put_parts(inbox_.take());
}

// Asks for the models of these workers. Returns false if one of them was lost meanwhile.
bool Coordinator::Impl::fetch(const std::vector<Rank>& processes) {
  for (const Rank process : processes) {
    if (!has_model(process)) {
      inbox_.expect(process, ++requests_, true);
      control_.tell(process, Control::kCollect,
                    Payload::of_record(CollectInfo{.number = requests_, .model = 1}));
    }
  }
  watch_until([&] { return inbox_.has_all(); });
  put_parts(inbox_.take());
  return std::ranges::all_of(
      processes, [&](Rank process) { return roster_.contains(process) || has_model(process); });
}

void Coordinator::Impl::put_parts(const std::vector<StateInbox::Arrived>& arrived) {
  for (const auto& [process, is_model, state] : arrived) {
    const std::string path = held_path(process);
    State own = held_->state.part(path);
    if (is_model) {
      own.put("replica", state.part("replica"));
    } else {
      own = state;
    }
    held_->state.erase(path);
    held_->state.put(path, std::move(own));
  }
}

}  // namespace motley
