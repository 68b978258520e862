#include "runtime/coordinator/coordinator.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "base/reason.h"
#include "runtime/coordinator/coordinator_impl.h"
#include "runtime/rendezvous/token.h"
#include "runtime/run/member_job.h"

namespace motley {
namespace {

constexpr Seconds kLeaveDeadline = 5;  // for processes to exit after kLeave

// The job that goes on may have other workers or another method than the state that it resumes.
Gathering fitted_to(const Job& job, std::int64_t dataset, Gathering gathering) {
  if (gathering.resume && !fits(*gathering.resume, job, dataset)) {
    gathering.resume = std::make_shared<const State>(fitted(*gathering.resume, job, dataset));
  }
  return gathering;
}

// The workers that were there when this was noted.
std::set<int> there_at_end(const std::vector<MemberRecord>& history) {
  std::set<int> ids;
  for (const MemberRecord& member : history) {
    if (member.process.kind == ProcessKind::kWorker && !member.left) {
      ids.insert(member.process.id);
    }
  }
  return ids;
}

}  // namespace

Coordinator::Impl::Impl(const Job& job, Task& task, RunMonitor& monitor, Gathering gathering)
    : run_job_(job),
      job_(job),
      monitor_(monitor),
      gathering_(fitted_to(job, task.training_samples(), completed(std::move(gathering)))),
      token_(random_token()),
      node_(driver_, kCoordinator, job.cluster.workers),
      service_node_(driver_, kCoordinator, job.cluster.workers),
      fabric_(driver_, *this,
              {.self = kCoordinator, .token = token_, .address = gathering_.address}),
      dataset_(task.training_samples()),
      logic_(rules_of(job, dataset_)),
      evaluator_(task),
      state_sender_(
          [this](Rank to, std::int64_t number, std::vector<std::byte> chunk) {
            control_.tell_state(to, number, std::move(chunk));
          },
          [this](const std::exception_ptr& error) { node_.stop(plain_reason(error)); }),
      members_(run_job_, gathering_, token_, fabric_.endpoint().port) {
  node_.attach(fabric_);
  service_node_.attach(fabric_);
  fabric_.set_stuck_after(kStuckHeartbeats * job.cluster.heartbeat);
  if (gathering_.resume) {
    term_log_.resume();
    restore_position(*gathering_.resume, job_, position_, logic_);
    throw_if_complete(position_, logic_);
    service_kept_.state() = gathering_.resume->part("service");
    membership_.go_on(membership_.ids(), position_.members, position_.seconds);
    server_membership_.go_on(all_servers(job), position_.members, position_.seconds);
    position_.ids = membership_.ids();
    for (std::size_t rank = 0; rank < position_.bytes_sent.size(); ++rank) {
      roster_[static_cast<Rank>(rank)].bytes_before = position_.bytes_sent[rank];
    }
    faults_.resume(position_.seconds, there_at_end(position_.members));
  }
}

Admission Coordinator::Impl::admission_of_host() const {
  return {gathering_.host.rank.value_or(0), token_, fabric_.endpoint(), gathering_.address};
}

RunOutcome Coordinator::Impl::run() {
  try {
    node_.run([&](Node&) { conduct(); });
  } catch (const std::exception& error) {
    abort(error.what());
    if (const auto newest = evaluator_.newest()) {
      monitor_.on_last_model(newest->note.samples, newest->snapshot);
    }
    throw;
  }
  return std::move(outcome_);
}

void Coordinator::Impl::conduct() {
  roster_.hear_all(node_.now());
  members_.start_processes();
  watch_until([&] { return roster_.all_joined(); });
  introduced_ = true;
  roster_.hear_all(node_.now());
  for (const Rank process : roster_.members()) {
    introduce(process);
  }
  tell_to_stop();  // a stop may have been requested before the workers could be reached
  watch_until([&] { return roster_.all_ready(); });
  prepare_first();
  do {
    begin_term();
    watch_until(
        [&] { return is_broken() || (roster_.all_at_end_of_term() && !service_->is_serving()); });
  } while (!end_term());
  finish();
  dismiss_workers();
  watch_until([&] { return evaluator_.idle(); });
  take_metrics();
  tell_service_news();
  checkpoint_.hand_over();
}

void Coordinator::Impl::introduce(Rank process) {
  ProcessState& state = roster_[process];
  state.introduced = true;
  state.heard = node_.now();
  StartInfo start;
  start.job = gathering_.job_text;
  start.heartbeat = run_job_.cluster.heartbeat / kHeartbeatsPerDeadline;
  start.is_server = state.is_server;
  control_.tell(process, Control::kStart, encode(start));
}

// Training begins: all clocks start at 0, or where the resumed run ended.
void Coordinator::Impl::begin_clock() {
  const std::chrono::duration<double> before(position_.seconds);
  const auto began =
      Driver::Clock::now() - std::chrono::duration_cast<Driver::Clock::duration>(before);
  node_.restart_clock(began);
  service_node_.restart_clock(began);
  roster_.hear_all(node_.now());
  looked_ = node_.now();
  control_.restart();
  evaluator_.set_beginning(began);
  began_ns_ = std::chrono::nanoseconds(began.time_since_epoch()).count();
  monitor_.on_begin([this](int worker) {
    const auto process = roster_.member_of(worker);
    return process ? in_place(roster_[*process].activity, term_members_) : Activity{};
  });
  if (run_job_.cluster.elastic) {
    failures_.expect_losses();
    members_.rendezvous().let_late_in();
  }
}

// All workers and servers are done.
void Coordinator::Impl::finish() {
  std::vector<DoneInfo> results = roster_.results();
  const std::vector<Rank>& processes = roster_.members();
  for (std::size_t rank = 0; rank < results.size(); ++rank) {
    results[rank].bytes_sent += roster_[processes[rank]].bytes_before;
  }
  RunEnd end = logic_.finish(results, std::move(service_result_), std::move(*last_model_));
  outcome_ = std::move(end.outcome);
  for (WorkerSummary& worker : outcome_.workers) {
    worker.rank = roster_[processes[static_cast<std::size_t>(worker.rank)]].id;
  }
  for (ServerSummary& server : outcome_.servers) {
    const Rank process = processes[static_cast<std::size_t>(server.rank)];
    server.rank = run_job_.cluster.workers + roster_[process].id;
  }
  outcome_.terms = static_cast<int>(position_.term.number);
  outcome_.members = history();
  if (!run_job_.cluster.has_quotas()) {
    outcome_.ideal_samples_per_second =
        ideal_rate(outcome_.members, run_job_.cluster, outcome_.seconds);
  }
  outcome_.losses = position_.losses;
  if (end.evaluate) {
    evaluator_.add(std::move(*end.evaluate));
  }
}

void Coordinator::Impl::dismiss_workers() {
  failures_.expect_exits();
  state_sender_.stop();
  control_.tell_all(Control::kLeave);
  processes_.thaw_all();
  const Seconds deadline = node_.now() + kLeaveDeadline;
  watch_until([&] { return !processes_.any_running() || node_.now() > deadline; });
  processes_.kill_all();
  fabric_.close(kGoodbyeSeconds);  // lets kLeave reach the processes that were not started here
}

// Processes that were not started here exit on their own once they are told the reason.
void Coordinator::Impl::abort(const std::string& reason) {
  state_sender_.stop();
  bool told = false;
  for (const auto& [process, state] : roster_.processes()) {
    if (state.pid == 0 && state.endpoint) {
      fabric_.send(process, {kCoordinator, Channel::kControl, header_of(Control::kAbort),
                             encode(FailedInfo{kAnyRank, reason})});
      told = true;
    }
  }
  if (told) {
    fabric_.close(kGoodbyeSeconds);
  }
}

Coordinator::Coordinator(const Job& job, Task& task, RunMonitor& monitor, Gathering gathering)
    : impl_(std::make_unique<Impl>(job, task, monitor, std::move(gathering))) {}
Coordinator::~Coordinator() = default;
Endpoint Coordinator::rendezvous() const { return impl_->rendezvous(); }
const std::string& Coordinator::token() const { return impl_->token(); }
Admission Coordinator::admission_of_host() const { return impl_->admission_of_host(); }
RunOutcome Coordinator::run() { return impl_->run(); }

}  // namespace motley
