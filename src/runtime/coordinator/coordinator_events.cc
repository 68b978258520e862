#include <fmt/format.h>

#include <chrono>
#include <thread>
#include <utility>

#include "runtime/coordinator/coordinator_impl.h"

namespace motley {
namespace {

constexpr Seconds kTick = 0.02;  // between two checks of processes, signals and timeouts
constexpr auto kNap = std::chrono::milliseconds(5);  // between two polls while a service runs
constexpr int kMostMessages = 1'000;                 // between two checks

}  // namespace

// One turn of the event loop: handles messages, exits of processes, timeouts and signals.
void Coordinator::Impl::watch() {
  int handled = 0;
  for (auto message = next_message(); message; message = next_message()) {
    handle(*message);
    if (++handled == kMostMessages || node_.now() - looked_ < kTick) {
      break;
    }
  }
  const Seconds since = node_.now() - looked_;
  if (since < kTick) {
    return;
  }
  looked_ = node_.now();
  roster_.look_again_after(since, looked_);
  look_at_rendezvous();
  failures_.look(node_.now());
  look_at_losses();
  look_at_faults(node_.now());
  look_at_links();
  look_at_stall();
  answer_requests();
  send_heartbeats();
  tell_counts();
  take_metrics();
  look_at_monitor();
  look_at_service();
  tell_members();
  tell_service_news();
  checkpoint_.hand_over();
  failures_.throw_root_cause(node_.now());
}

// While a service runs, its thread alone waits for messages, and this one polls. If both waited,
// every message would wake both.
std::optional<Message> Coordinator::Impl::next_message() {
  const bool is_due = node_.now() - looked_ >= kTick;
  const bool beside_service = service_ && service_->is_serving();
  const Seconds patience = is_due || beside_service ? 0 : kTick;
  auto message = node_.receive_until({Channel::kControl}, node_.now() + patience);
  if (!message && beside_service && !is_due) {
    std::this_thread::sleep_for(kNap);
  }
  return message;
}

// On whichever thread drives the fabric.
void Coordinator::Impl::on_message(Message message) {
  const bool is_control = message.channel == Channel::kControl;
  (is_control ? node_ : service_node_).on_message(std::move(message));
}

void Coordinator::Impl::on_peer_lost(Rank peer, const std::string& reason) {
  node_.on_message({peer, Channel::kControl, header_of(Control::kDisconnected),
                    encode(FailedInfo{peer, reason})});
}

void Coordinator::Impl::handle(const Message& message) {
  if (!roster_.contains(message.from) || roster_[message.from].can_leave) {
    return;  // it is gone, or is about to go
  }
  if (kind_of(message) == Control::kDisconnected) {
    const auto info = decode<FailedInfo>(message.payload);
    failures_.on_disconnected(message.from, info ? info->reason : "", node_.now());
  } else if (!understand(roster_[message.from], message)) {
    suspect(message.from, "sent a malformed message", false);
  }
}

bool Coordinator::Impl::understand(ProcessState& process, const Message& message) {
  process.heard = node_.now();
  switch (kind_of(message)) {
    case Control::kJoin:
      if (auto info = decode<JoinInfo>(message.payload)) {
        process.endpoint = info->endpoint;
        fabric_.set_peer(message.from, info->endpoint);
        if (introduced_ && !process.introduced) {
          introduce(message.from);  // a newcomer
        }
        if (failures_.expects_exits()) {
          control_.tell(message.from, Control::kLeave);  // it has come too late
        }
        return true;
      }
      return false;
    case Control::kReady:
      return on_ready(message.from, message.payload.record<ReadyInfo>());
    case Control::kHeartbeat:
      return true;
    case Control::kClock:
      control_.tell_time(message.from);
      return true;
    case Control::kWaits: {
      const auto info = message.payload.record<WaitInfo>();
      if (info) {
        note_waits(message.from, *info);
      }
      return deadlock_.hear(message.from, info, node_.now());
    }
    case Control::kProgress:
      return on_progress(message.from, decode<ProgressInfo>(message.payload));
    case Control::kSnapshot:
      return on_snapshot(message.from, decode<SnapshotInfo>(message.payload));
    case Control::kFailed:
      return on_failed(message.from, decode<FailedInfo>(message.payload));
    case Control::kState:
      return on_state(message);
    case Control::kReached:
      return on_reached(message.from, decode<ReachedInfo>(message.payload));
    case Control::kStateReceived:
      state_sender_.acknowledge(message.from);
      return true;
    case Control::kLeaving:
      process.wants_to_leave = run_job_.cluster.elastic && !process.is_server;
      if (process.wants_to_leave && is_candidate(message.from)) {
        release(message.from);
      }
      return true;
    case Control::kAsk:
      if (auto info = decode<FailedInfo>(message.payload)) {
        logic_.stop(info->reason);
        return true;
      }
      return false;
    default:
      return understand_term(process, message);
  }
}

// What a member says of a term. Of another term than the one under way it is no news.
bool Coordinator::Impl::understand_term(ProcessState& process, const Message& message) {
  const auto is_news = [&](const auto& info) {
    return info->term == position_.term.number && roster_.is_member(message.from);
  };
  switch (kind_of(message)) {
    case Control::kPrepared: {
      const auto info = message.payload.record<TermNumber>();
      if (info && is_news(info)) {
        process.prepared = true;
        if (held_) {
          held_->stale.erase(message.from);
          held_->without_model.erase(message.from);
        }
      }
      return info.has_value();
    }
    case Control::kTermEnd: {
      const auto info = message.payload.record<TermEndInfo>();
      if (info && is_news(info)) {
        process.term_end = info;
        process.bytes_sent = info->bytes_sent;
      }
      return info && info->samples >= 0;
    }
    case Control::kSettled: {
      const auto info = decode<SettledInfo>(message.payload);
      if (info && is_news(info)) {
        process.settled = info;
        process.bytes_sent = info->bytes_sent;
      }
      return info.has_value();
    }
    case Control::kDone:
      process.done = decode<DoneInfo>(message.payload);
      return process.done && (message.from != roster_.members().front() || last_model_);
    case Control::kPeerLost:
      return on_peer_lost(message.from, decode<LostInfo>(message.payload));
    default:
      return false;
  }
}

// Samples are assigned by index, so all workers must have the same number.
bool Coordinator::Impl::on_ready(Rank process, const std::optional<ReadyInfo>& info) {
  const bool fits = info && (!roster_.is_worker(process) || info->training_samples == dataset_);
  if (info && !fits) {
    const std::string why =
        fmt::format("has {} training samples, expected {}", info->training_samples, dataset_);
    if (!roster_.is_member(process)) {
      refuse(process, "this worker " + why);
      return true;
    }
    suspect(process, why, false);
  }
  roster_[process].loaded = fits;
  roster_[process].ready = fits && roster_.is_member(process);  // newcomers: look_at_newcomers()
  return info.has_value();
}

// A newcomer that fails has not become a part of the run.
bool Coordinator::Impl::on_failed(Rank process, const std::optional<FailedInfo>& info) {
  if (!info) {
    return false;
  }
  roster_[process].failed = true;
  if (!roster_.is_member(process) && failures_.expects_losses()) {
    failures_.lose(process, "failed: " + info->reason, node_.now());
  } else {
    suspect(process, "failed: " + info->reason, info->peer >= 0);
  }
  return true;
}

bool Coordinator::Impl::on_progress(Rank process, std::optional<ProgressInfo> info) {
  if (!info) {
    return false;
  }
  ProcessState& state = roster_[process];
  note_progress(state, process, info->news.figures);
  state.activity = info->activity;
  state.figures = info->news.figures;
  state.bytes_sent = std::max(state.bytes_sent, info->news.figures.bytes_sent);
  WorkerNews news = std::move(info->news);
  news.figures.bytes_sent += state.bytes_before;
  if (state.id >= 0) {  // a newcomer has none yet
    put_in_places(news.entries, term_members_);
    monitor_.on_news(record_place(id_of(state)), news);
  }
  if (state.is_server) {
    return true;  // a server has a journal, but no progress of its own
  }
  logic_.on_counts(info->counts);
  if (const auto report = logic_.on_progress(info->seconds, info->progress.samples, info->loss)) {
    monitor_.on_progress(*report);
  }
  return true;
}

bool Coordinator::Impl::on_snapshot(Rank process, std::optional<SnapshotInfo> info) {
  const bool may_be_last = roster_.members().front() == process;
  if (!info || (info->note.last && !may_be_last)) {
    return false;
  }
  if (info->note.last) {
    last_model_ = std::move(info->snapshot);  // evaluated when all are done
  } else if (auto whole = logic_.on_snapshot(std::move(*info))) {
    evaluator_.add(std::move(*whole));
  }
  return true;
}

bool Coordinator::Impl::on_state(const Message& message) {
  control_.tell(message.from, Control::kStateReceived);
  const std::int64_t number = message.header.a;
  return checkpoint_.gathers(number) ? checkpoint_.add(message.from, message.payload.bytes())
                                     : inbox_.add(message.from, number, message.payload.bytes());
}

void Coordinator::Impl::look_at_rendezvous() {
  const Seconds before = node_.now();
  members_.rendezvous().look();
  roster_.excuse(node_.now() - before);
  if (!introduced_) {
    members_.throw_if_hopeless(node_.now());
  }
  members_.take_newcomers(node_.now());
  for (const auto& [process, state] : roster_.processes()) {
    look_at_newcomer(process);
  }
}

void Coordinator::Impl::look_at_losses() {
  const std::int64_t used = std::max(position_.term.begin, logic_.samples());
  for (const Loss& loss : failures_.take_losses(used, node_.now())) {
    lose(loss);
  }
}

void Coordinator::Impl::lose(const Loss& loss) {
  const ProcessState state = roster_[loss.process];
  const std::string name = members_.describe(loss.process);
  if (state.can_leave) {
    return;
  }
  const bool takes_part = roster_.is_member(loss.process) || state.admitted;
  decide(fmt::format("{} {}", name, loss.why), "");
  gone_.emplace(loss.process, state);
  dropped_.push_back(loss.process);
  if (takes_part) {
    checkpoint_.abandon();
  }
  inbox_.drop(loss.process);
  state_sender_.drop(loss.process);
  links_.forget(loss.process);
  fabric_.drop_peer(loss.process);
  members_.remove(loss.process);
  const bool comes_back = takes_part && faults_.lose(id_of(state));
  if (takes_part) {
    why_broken_ = fmt::format("{} {}", name, loss.why);
    lost_.insert(id_of(state));
    (state.is_server ? server_membership_ : membership_).leave(state.id, node_.now(), loss.why);
  }
  if (!failures_.expects_exits() && !comes_back && members_.respawn(state, node_.now())) {
    decide(fmt::format("{} {} is started again", state.is_server ? "server" : "worker", state.id),
           "");
  }
}

// A newcomer cannot take part.
void Coordinator::Impl::refuse(Rank process, const std::string& why) {
  decide(fmt::format("{} may not join", members_.describe(process)), why);
  control_.tell(process, Control::kAbort,
                encode(FailedInfo{kAnyRank, "refused by the coordinator: " + why}));
  roster_[process].can_leave = true;
  members_.rendezvous().forget(process);
}

// A worker leaves in order.
void Coordinator::Impl::release(Rank process) {
  decide(fmt::format("{} leaves", members_.describe(process)), "");
  control_.tell(process, Control::kLeave);
  roster_[process].can_leave = true;
  members_.rendezvous().forget(process);
}

void Coordinator::Impl::send_heartbeats() {
  if (introduced_ && !failures_.expects_exits()) {
    control_.beat(run_job_.cluster.heartbeat / kHeartbeatsPerDeadline);
  }
}

void Coordinator::Impl::look_at_monitor() {
  if (monitor_.abandon_requested()) {
    throw RunFailed(kAbandoned);
  }
  if (const auto reason = monitor_.stop_requested()) {
    logic_.stop(*reason);
  }
  if (logic_.stopped() && !introduced_ && members_.awaits_peers()) {
    throw RunFailed(fmt::format("stopped by {} before all ranks had joined", *logic_.stopped()));
  }
  tell_to_stop();
  tell_to_cut();
}

// A term ends in order if somebody wants to join or leave and, where the job sets no interval
// between checkpoints, after some minutes.
void Coordinator::Impl::tell_to_cut() {
  if (!service_ || told_to_cut_) {
    return;
  }
  if (is_change_due() || checkpoint_.is_cut_due(node_.now() - position_.seconds)) {
    told_to_cut_ = true;
    control_.tell_members(Control::kCut, Payload::of_record(TermNumber{position_.term.number}));
    service_->request_stop();
  }
}

// Tells all processes once: when there is a reason and they can be reached.
void Coordinator::Impl::tell_to_stop() {
  if (!logic_.stopped() || !introduced_ || told_to_stop_) {
    return;
  }
  told_to_stop_ = true;
  control_.tell_all(Control::kStop, encode(FailedInfo{kAnyRank, *logic_.stopped()}));
  if (service_) {
    service_->request_stop();
  }
}

// Quotas hold from the start of training; while workers load, they are not limited.
void Coordinator::Impl::look_at_service() {
  if (service_) {
    processes_.set_quotas(node_.now());
    service_->rethrow_failure();
    deadlock_.hear(kCoordinator, service_->waiting(), node_.now());
    if (!failures_.expects_exits() && deadlock_.is_stuck(node_.now())) {
      throw RunFailed(deadlock_.report(job_, roster_, node_.now()));
    }
  }
}

void Coordinator::Impl::take_metrics() {
  while (auto evaluated = evaluator_.take()) {
    const Metric metric = logic_.on_evaluation(evaluated->note, evaluated->evaluation);
    evaluated->span.step = metric.step;
    service_journal_.add(evaluated->span);
    monitor_.on_metric(metric);
    control_.tell_members(Control::kEvaluated,
                          encode(EvaluatedInfo{metric.samples, evaluated->evaluation}));
  }
}

// What workers at their own pace have counted, if there is news.
void Coordinator::Impl::tell_counts() {
  if (logic_.counts() != counts_told_) {
    counts_told_ = logic_.counts();
    control_.tell_members(Control::kCounts,
                          Payload::copy_of(std::as_bytes(std::span(counts_told_))));
  }
}

// A worker that comes has a place in the record before it tells anything.
void Coordinator::Impl::tell_members() {
  const std::size_t changes = membership_.changes() + server_membership_.changes();
  if (began_ns_ != 0 && changes != std::exchange(told_members_, changes)) {
    monitor_.on_members(history());
  }
}

void Coordinator::Impl::tell_service_news() {
  service_journal_.take(service_news_.entries);
  monitor_.on_news(kCoordinator, service_news_);
}

void Coordinator::Impl::suspect(Rank process, const std::string& what, bool consequence) {
  failures_.suspect(process, what, consequence, node_.now());
}

}  // namespace motley
