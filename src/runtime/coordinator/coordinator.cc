#include "runtime/coordinator/coordinator.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <chrono>
#include <thread>

#include "fabric/driver.h"
#include "fabric/tcp.h"
#include "motley/sync/method.h"
#include "runtime/coordinator/deadlock_watch.h"
#include "runtime/coordinator/evaluation_thread.h"
#include "runtime/coordinator/local_processes.h"
#include "runtime/coordinator/method_service.h"
#include "runtime/coordinator/root_cause.h"
#include "runtime/coordinator/roster.h"
#include "runtime/launch/first_failure.h"
#include "runtime/rendezvous/addresses.h"
#include "runtime/rendezvous/token.h"
#include "runtime/run/control.h"
#include "runtime/run/run_logic.h"
#include "runtime/worker/real_node.h"

namespace motley {
namespace {

constexpr Seconds kTick = 0.02;  // between two checks of processes, signals and timeouts
constexpr auto kNap = std::chrono::milliseconds(5);  // between two polls while a service runs
constexpr Seconds kLeaveDeadline = 5;                // for processes to exit after kLeave

}  // namespace

class Coordinator::Impl {
 public:
  Impl(const Job& job, Task& task, RunMonitor& monitor, Gathering gathering)
      : job_(job),
        monitor_(monitor),
        gathering_(completed(std::move(gathering))),
        token_(random_token()),
        roster_(job.cluster.workers, servers_of(job)),
        node_(driver_, kCoordinator, job.cluster.workers),
        fabric_(driver_, node_,
                {.self = kCoordinator, .token = token_, .address = gathering_.address}),
        dataset_(task.training_samples()),
        logic_(rules_of(job, dataset_)),
        evaluator_(task),
        processes_(job_, gathering_) {
    node_.attach(fabric_);
    open_rendezvous();
  }

  Endpoint rendezvous() const { return rendezvous_->endpoint(); }
  const std::string& token() const { return gathering_.host.token; }
  Admission admission_of_host() const {
    return {gathering_.host.rank.value_or(0), token_, fabric_.endpoint(), gathering_.address};
  }

  RunOutcome run() {
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

 private:
  void open_rendezvous() {
    RendezvousRules rules;
    rules.host = gathering_.host;
    rules.ranks = roster_.size();
    rules.without_rank = job_.cluster.workers;
    rules.fabric_token = token_;
    rules.fabric_port = fabric_.endpoint().port;
    auto rendezvous = Rendezvous::open(gathering_.address, gathering_.port, std::move(rules));
    if (!rendezvous) {
      throw RunFailed(rendezvous.error().message);
    }
    rendezvous_ = std::move(*rendezvous);
  }

  void conduct() {
    roster_.hear_all(node_.now());
    start_processes();
    watch_until([&] { return roster_.all_joined(); });
    introduce_workers();
    watch_until([&] { return roster_.all_ready(); });
    begin();
    watch_until([&] { return roster_.all_done() && !service_->is_serving(); });
    finish();
    dismiss_workers();
    watch_until([&] { return evaluator_.idle(); });
    take_metrics();
    tell_service_news();
  }

  // Training begins: all clocks start at 0.
  void begin() {
    const auto began = Driver::Clock::now();
    node_.restart_clock(began);
    roster_.hear_all(0);
    looked_ = 0;
    beat_ = 0;
    evaluator_.set_beginning(began);
    const std::chrono::nanoseconds moment = began.time_since_epoch();
    tell_all(Control::kGo, Payload::of_record(GoInfo{moment.count()}));
    monitor_.on_begin([&](Rank rank) { return roster_[rank].activity; });
    service_ =
        std::make_unique<MethodService>(node_, job_, dataset_, &service_journal_, machines());
    deadlock_.clear();
    if (logic_.stopped()) {
      service_->request_stop();  // the workers were told earlier
    }
  }

  // All workers and servers are done.
  void finish() {
    RunEnd end = logic_.finish(roster_.results(), service_->finish(), std::move(*last_model_));
    outcome_ = std::move(end.outcome);
    if (end.evaluate) {
      evaluator_.add(std::move(*end.evaluate));
    }
  }

  Endpoint local_rendezvous() const {
    const Endpoint rendezvous = rendezvous_->endpoint();
    return {rendezvous.host == kAnyAddress ? "127.0.0.1" : rendezvous.host, rendezvous.port};
  }

  // Processes that are not started here may join late, or never.
  bool awaits_peers() const { return gathering_.worker_command.empty() || gathering_.workers_come; }

  void start_processes() {
    for (Rank rank = 0; rank < roster_.size(); ++rank) {
      if (processes_.starts(rank)) {
        roster_[rank].pid = processes_.start(rank, local_rendezvous(), token());
      }
    }
  }

  void introduce_workers() {
    StartInfo start;
    start.job = gathering_.job_text;
    start.heartbeat = job_.cluster.heartbeat / kHeartbeatsPerDeadline;
    start.endpoints = roster_.introduce(node_.now());
    tell_all(Control::kStart, encode(start));
    introduced_ = true;
    tell_to_stop();  // a stop may have been requested before the workers could be reached
  }

  void dismiss_workers() {
    leaving_ = true;
    tell_all(Control::kLeave);
    const Seconds deadline = node_.now() + kLeaveDeadline;
    watch_until([&] { return !processes_.any_running() || node_.now() > deadline; });
    processes_.kill_all();
    fabric_.close(kGoodbyeSeconds);  // lets kLeave reach the processes that were not started here
  }

  // Processes that were not started here exit on their own once they are told the reason.
  void abort(const std::string& reason) {
    bool told = false;
    for (Rank rank = 0; rank < roster_.size(); ++rank) {
      if (!processes_.starts(rank) && roster_[rank].endpoint) {
        fabric_.send(rank, {kCoordinator, Channel::kControl, header_of(Control::kAbort),
                            encode(FailedInfo{kAnyRank, reason})});
        told = true;
      }
    }
    if (told) {
      fabric_.close(kGoodbyeSeconds);
    }
  }

  // The event loop: handles messages, exits of processes, timeouts and signals.
  template <class Condition>
  void watch_until(Condition reached) {
    while (!reached()) {
      if (auto message = next_message()) {
        handle(*message);
      }
      if (node_.now() - looked_ >= kTick) {
        looked_ = node_.now();
        look_at_rendezvous();
        look_at_processes();
        look_at_clocks();
        take_metrics();
        look_at_monitor();
        look_at_service();
        tell_service_news();
        throw_root_cause();
      }
    }
  }

  // While a service runs, its thread alone waits for messages, and this one polls. If both waited,
  // every message would wake both.
  std::optional<Message> next_message() {
    Rank lost = kAnyRank;
    std::string why;
    try {
      const bool beside_service = service_ && service_->is_serving();
      auto message =
          node_.receive_until({Channel::kControl}, node_.now() + (beside_service ? 0 : kTick));
      if (!message && beside_service) {
        std::this_thread::sleep_for(kNap);
      }
      return message;
    } catch (const Interrupted& interrupted) {
      lost = interrupted.peer();
      why = interrupted.what();
      if (lost == kAnyRank) {
        throw;  // the node was stopped
      }
    }
    node_.forget(lost);
    on_lost(lost, why);
    return std::nullopt;
  }

  // For a process started here, its exit status or a timeout will give the reason.
  void on_lost(Rank rank, const std::string& why) {
    const ProcessState& process = roster_[rank];
    if (process.pid == 0 && !process.failed && !leaving_) {
      suspect(rank, "is lost: " + why, false);
    }
  }

  void handle(const Message& message) {
    if (!roster_.contains(message.from) || !understand(roster_[message.from], message)) {
      suspect(message.from, "sent a malformed message", false);
    }
  }

  bool understand(ProcessState& worker, const Message& message) {
    worker.heard = node_.now();
    switch (kind_of(message)) {
      case Control::kJoin:
        if (auto info = decode<JoinInfo>(message.payload)) {
          worker.endpoint = info->endpoint;
          fabric_.set_peer(message.from, info->endpoint);
          return true;
        }
        return false;
      case Control::kReady:
        return on_ready(message.from, message.payload.record<ReadyInfo>());
      case Control::kHeartbeat:
        return true;
      case Control::kClock:
        tell_time(message.from);
        return true;
      case Control::kWaits:
        return deadlock_.hear(message.from, message.payload.record<WaitInfo>(), node_.now());
      case Control::kProgress:
        return on_progress(message.from, decode<ProgressInfo>(message.payload));
      case Control::kSnapshot:
        return on_snapshot(message.from, decode<SnapshotInfo>(message.payload));
      case Control::kDone:
        worker.done = decode<DoneInfo>(message.payload);
        return worker.done && (message.from != 0 || last_model_);
      case Control::kFailed:
        if (auto info = decode<FailedInfo>(message.payload)) {
          worker.failed = true;
          suspect(message.from, "failed: " + info->reason, info->peer >= 0);
          return true;
        }
        return false;
      case Control::kAsk:
        if (auto info = decode<FailedInfo>(message.payload)) {
          logic_.stop(info->reason);
          return true;
        }
        return false;
      default:
        return false;
    }
  }

  // Samples are assigned by index, so all workers must have the same number.
  bool on_ready(Rank rank, const std::optional<ReadyInfo>& info) {
    const bool fits = info && (!roster_.is_worker(rank) || info->training_samples == dataset_);
    if (info && !fits) {
      suspect(rank,
              fmt::format("has {} training samples, expected {}", info->training_samples, dataset_),
              false);
    }
    roster_[rank].ready = fits;
    return info.has_value();
  }

  void tell_time(Rank rank) {
    const std::chrono::nanoseconds now = Driver::Clock::now().time_since_epoch();
    node_.send(rank, Channel::kControl, header_of(Control::kClock),
               Payload::of_record(ClockInfo{now.count()}));
  }

  bool on_progress(Rank rank, const std::optional<ProgressInfo>& info) {
    if (!info) {
      return false;
    }
    roster_[rank].activity = info->activity;
    monitor_.on_news(rank, info->news);
    if (!roster_.is_worker(rank)) {
      return true;  // a server has a journal, but no progress of its own
    }
    if (const auto report = logic_.on_progress(info->seconds, info->progress.samples, info->loss)) {
      monitor_.on_progress(*report);
    }
    return true;
  }

  bool on_snapshot(Rank rank, std::optional<SnapshotInfo> info) {
    if (!info || (info->note.last && rank != 0)) {
      return false;
    }
    if (info->note.last) {
      last_model_ = std::move(info->snapshot);  // evaluated when all are done
    } else if (auto whole = logic_.on_snapshot(std::move(*info))) {
      evaluator_.add(std::move(*whole));
    }
    return true;
  }

  void look_at_processes() {
    while (auto exit = processes_.poll()) {
      if (!leaving_ || exit->status != 0) {
        // One that exits on its own has reported its reason before; a signal is itself the reason.
        suspect(exit->rank, describe_status(exit->status), WIFEXITED(exit->status));
      }
    }
  }

  void look_at_rendezvous() {
    const Seconds before = node_.now();
    rendezvous_->look();
    roster_.excuse(node_.now() - before);
    if (introduced_) {
      return;
    }
    if (const auto conflict = rendezvous_->conflict()) {
      throw RunFailed(*conflict);
    }
    const auto missing = roster_.missing();
    if (!missing.empty() && node_.now() > gathering_.patience) {
      throw RunFailed(fmt::format("timed out after {:g} s waiting for {} to join",
                                  gathering_.patience, show_ranks(missing)));
    }
  }

  void look_at_clocks() {
    if (leaving_) {
      return;
    }
    if (introduced_ && node_.now() - beat_ > job_.cluster.heartbeat / kHeartbeatsPerDeadline) {
      beat_ = node_.now();
      tell_all(Control::kHeartbeat);  // lets a worker notice that its network is down
    }
    const SilenceLimits limits{gathering_.patience, job_.cluster.heartbeat};
    for (const Silence& silence : roster_.silent(node_.now(), limits)) {
      suspect(silence.rank, fmt::format("gave no sign of life for {:g} s", silence.patience),
              false);
    }
  }

  void look_at_monitor() {
    if (monitor_.abandon_requested()) {
      throw RunFailed(kAbandoned);
    }
    if (const auto reason = monitor_.stop_requested()) {
      logic_.stop(*reason);
    }
    if (logic_.stopped() && !introduced_ && awaits_peers()) {
      throw RunFailed(fmt::format("stopped by {} before all ranks had joined", *logic_.stopped()));
    }
    tell_to_stop();
  }

  // Tells all processes once: when there is a reason and they can be reached.
  void tell_to_stop() {
    if (!logic_.stopped() || !introduced_ || told_to_stop_) {
      return;
    }
    told_to_stop_ = true;
    tell_all(Control::kStop, encode(FailedInfo{kAnyRank, *logic_.stopped()}));
    if (service_) {
      service_->request_stop();
    }
  }

  // Quotas hold from the start of training; while workers load, they are not limited.
  void look_at_service() {
    if (service_) {
      processes_.set_quotas(node_.now());
      service_->rethrow_failure();
      deadlock_.hear(kCoordinator, service_->waiting(), node_.now());
      if (!leaving_ && deadlock_.is_stuck(node_.now())) {
        throw RunFailed(deadlock_.report(job_, roster_, node_.now()));
      }
    }
  }

  void take_metrics() {
    while (auto evaluated = evaluator_.take()) {
      const Metric metric = logic_.on_evaluation(evaluated->note, evaluated->evaluation);
      evaluated->span.step = metric.step;
      service_journal_.add(evaluated->span);
      monitor_.on_metric(metric);
    }
  }

  void tell_service_news() {
    service_journal_.take(service_news_.entries);
    monitor_.on_news(kCoordinator, service_news_);
  }

  // `consequence`: the process may have failed only because another one did.
  void suspect(Rank rank, const std::string& what, bool consequence) {
    cause_.suspect(fmt::format("{} ({}) {}", roster_.name(rank), whereabouts(rank), what),
                   node_.now(), consequence);
  }

  std::string whereabouts(Rank rank) const {
    const bool known = roster_.contains(rank);
    const pid_t pid = known ? roster_[rank].pid : 0;
    const auto peer = known && pid == 0 ? rendezvous_->peer(rank) : std::nullopt;
    return peer ? fmt::format("pid {} on {}", peer->pid, peer->host) : fmt::format("pid {}", pid);
  }

  std::vector<int> machines() const {
    std::vector<std::string> names;
    for (Rank rank = 0; rank < roster_.size(); ++rank) {
      const auto peer = rendezvous_->peer(rank);
      names.push_back(peer ? peer->host : gathering_.host.host);
    }
    return machines_of(names);
  }

  void throw_root_cause() {
    if (const auto why = cause_.verdict(node_.now())) {
      throw RunFailed(*why);
    }
  }

  void tell_all(Control kind, const Payload& payload = {}) {
    for (Rank rank = 0; rank < roster_.size(); ++rank) {
      node_.send(rank, Channel::kControl, header_of(kind), payload);
    }
  }

  const Job& job_;
  RunMonitor& monitor_;
  const Gathering gathering_;
  const std::string token_;  // of the fabric
  Roster roster_;
  Driver driver_;
  RealNode node_;
  TcpFabric fabric_;
  std::unique_ptr<Rendezvous> rendezvous_;
  const std::int64_t dataset_;  // number of training samples
  RunLogic logic_;
  EvaluationThread evaluator_;
  Seconds looked_ = 0;                  // time of the last tick
  Seconds beat_ = 0;                    // time of the last heartbeat sent
  std::optional<Snapshot> last_model_;  // the final model of the run
  RunOutcome outcome_;
  Journal service_journal_;
  WorkerNews service_news_;
  std::unique_ptr<MethodService> service_;  // set when training starts
  DeadlockWatch deadlock_{roster_.size()};
  RootCause cause_;
  bool introduced_ = false;  // workers can be reached
  bool told_to_stop_ = false;
  bool leaving_ = false;
  LocalProcesses processes_;  // last member: destroyed, and its processes killed, first
};

Coordinator::Coordinator(const Job& job, Task& task, RunMonitor& monitor, Gathering gathering)
    : impl_(std::make_unique<Impl>(job, task, monitor, std::move(gathering))) {}
Coordinator::~Coordinator() = default;
Endpoint Coordinator::rendezvous() const { return impl_->rendezvous(); }
const std::string& Coordinator::token() const { return impl_->token(); }
Admission Coordinator::admission_of_host() const { return impl_->admission_of_host(); }
RunOutcome Coordinator::run() { return impl_->run(); }

}  // namespace motley
