#include "runtime/coordinator/coordinator.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "cluster/quotas.h"
#include "fabric/driver.h"
#include "fabric/tcp.h"
#include "motley/sync/strategy.h"
#include "motley/version.h"
#include "runtime/coordinator/evaluation_thread.h"
#include "runtime/coordinator/process_state.h"
#include "runtime/coordinator/root_cause.h"
#include "runtime/launch/children.h"
#include "runtime/launch/first_failure.h"
#include "runtime/rendezvous/addresses.h"
#include "runtime/rendezvous/token.h"
#include "runtime/run/control.h"
#include "runtime/run/snapshot_merger.h"
#include "runtime/worker/real_node.h"
#include "sync/loop.h"

namespace motley {
namespace {

constexpr Seconds kTick = 0.02;  // between two looks at processes, signals and clocks
constexpr auto kNap = std::chrono::milliseconds(5);  // of the watch beside a service
constexpr Seconds kLeaveDeadline = 5;                // for a process to end once told to

}  // namespace

class Coordinator::Impl {
 public:
  Impl(const Job& job, Task& task, RunMonitor& monitor, Gathering gathering)
      : job_(job),
        monitor_(monitor),
        gathering_(with_token(std::move(gathering))),
        token_(random_token()),
        processes_(static_cast<std::size_t>(job.cluster.workers + job.servers())),
        node_(driver_, kCoordinator, job.cluster.workers),
        fabric_(driver_, node_,
                {.self = kCoordinator, .token = token_, .address = gathering_.address}),
        dataset_(task.training_samples()),
        limit_(ledger_options(job, dataset_).limit),
        evaluator_(Evaluator(task, job)) {
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
      node_.run([&](Node& node) { conduct(node); });
    } catch (const std::exception& error) {
      abort(error.what());
      throw;
    }
    return outcome();
  }

 private:
  static Gathering with_token(Gathering gathering) {
    if (gathering.host.token.empty() && !gathering.worker_command.empty()) {
      gathering.host.token = random_token();
    }
    if (gathering.host.version.empty()) {
      gathering.host.version = kVersion;
    }
    return gathering;
  }

  void open_rendezvous() {
    RendezvousRules rules;
    rules.host = gathering_.host;
    rules.ranks = static_cast<int>(processes_.size());
    rules.without_rank = job_.cluster.workers;
    rules.fabric_token = token_;
    rules.fabric_port = fabric_.endpoint().port;
    auto rendezvous = Rendezvous::open(gathering_.address, gathering_.port, std::move(rules));
    if (!rendezvous) {
      throw RunFailed(rendezvous.error().message);
    }
    rendezvous_ = std::move(*rendezvous);
  }

  void conduct(Node& node) {
    for (ProcessState& process : processes_) {
      process.heard = node_.now();
    }
    start_processes();
    watch_until([&] { return all([](const auto& w) { return w.endpoint.has_value(); }); });
    introduce_workers();
    watch_until([&] { return all([](const auto& w) { return w.ready; }); });
    begin();
    serving_ = true;
    node.spawn("service", [&](Node& service_node) { provide_service(service_node); });
    watch_until([&] { return all([](const auto& w) { return w.done.has_value(); }); });
    evaluate_last_snapshot();
    dismiss_workers();
    watch_until([&] { return evaluator_.idle(); });
    take_metrics();
    tell_service_news();
  }

  // All clocks start at 0.
  void begin() {
    const auto began = Driver::Clock::now();
    node_.restart_clock(began);
    for (ProcessState& process : processes_) {
      process.heard = 0;
    }
    looked_ = 0;
    beat_ = 0;
    training_ = true;
    evaluator_.set_beginning(began);
    const std::chrono::nanoseconds moment = began.time_since_epoch();
    tell_all(Control::kGo, Payload::of_record(GoInfo{moment.count()}));
    monitor_.on_begin(
        [&](Rank rank) { return processes_[static_cast<std::size_t>(rank)].activity; });
  }

  // The method's part on the coordinator, beside the watching.
  void provide_service(Node& node) {
    try {
      service_ = serve(
          node, job_, dataset_, [&] { return stopping_.load(); }, &service_journal_);
    } catch (const Interrupted&) {
      // A worker is lost, and its process or its silence will tell why; or the run is over.
    } catch (const std::exception& error) {
      throw RunFailed(error.what());
    }
    serving_ = false;
  }

  Endpoint local_rendezvous() const {
    const Endpoint rendezvous = rendezvous_->endpoint();
    return {rendezvous.host == kAnyAddress ? "127.0.0.1" : rendezvous.host, rendezvous.port};
  }

  // Those who come by themselves may take their time, or never come.
  bool awaits_peers() const { return gathering_.worker_command.empty() || gathering_.workers_come; }

  bool started_here(std::size_t rank) const {
    return !gathering_.worker_command.empty() && !(gathering_.workers_come && is_worker(rank));
  }

  void start_processes() {
    const std::string threads = std::to_string(job_.cluster.threads);
    const std::vector<std::string> environment = {
        std::string(kTokenVariable) + "=" + token(), "OMP_NUM_THREADS=" + threads,
        "OPENBLAS_NUM_THREADS=" + threads, "MKL_NUM_THREADS=" + threads};
    for (std::size_t rank = 0; rank < processes_.size(); ++rank) {
      if (!started_here(rank)) {
        continue;
      }
      auto command = gathering_.worker_command;
      command.insert(command.end(),
                     {"--join", show(local_rendezvous()), "--rank", std::to_string(rank)});
      processes_[rank].pid =
          children_.start(static_cast<Rank>(rank), command, environment, STDERR_FILENO);
      if (gathering_.quotas && is_worker(rank)) {
        expect(gathering_.quotas->add(static_cast<Rank>(rank), processes_[rank].pid));
      }
    }
  }

  void introduce_workers() {
    StartInfo start;
    start.job = gathering_.job_text;
    start.heartbeat = job_.cluster.heartbeat / kHeartbeatsPerDeadline;
    for (std::size_t rank = 0; rank < processes_.size(); ++rank) {
      processes_[rank].started = true;
      processes_[rank].heard = node_.now();
      start.endpoints.push_back(*processes_[rank].endpoint);
    }
    tell_all(Control::kStart, encode(start));
    introduced_ = true;
    if (stopped_) {
      tell_to_stop();  // asked for before anybody could be told
    }
  }

  void dismiss_workers() {
    leaving_ = true;
    tell_all(Control::kLeave);
    const Seconds deadline = node_.now() + kLeaveDeadline;
    watch_until([&] { return !children_.any_running() || node_.now() > deadline; });
    children_.kill_all();
    fabric_.close(kGoodbyeSeconds);  // those who came by themselves have heard it then
  }

  // Those who came by themselves end by themselves, once they know why.
  void abort(const std::string& reason) {
    bool told = false;
    for (std::size_t rank = 0; rank < processes_.size(); ++rank) {
      if (!started_here(rank) && processes_[rank].endpoint) {
        fabric_.send(static_cast<Rank>(rank),
                     {kCoordinator, Channel::kControl, header_of(Control::kAbort),
                      encode(FailedInfo{kAnyRank, reason})});
        told = true;
      }
    }
    if (told) {
      fabric_.close(kGoodbyeSeconds);
    }
  }

  // Everything that happens, happens in here: messages, ends of processes, silence, signals.
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
        look_at_monitor();
        look_at_speeds();
        take_metrics();
        tell_service_news();
        throw_root_cause();
      }
    }
  }

  // A service has the sockets to itself, and its messages wake nobody else: the watch looks in now
  // and then. Two threads that wait for messages would wake each other with every one of them.
  std::optional<Message> next_message() {
    Rank lost = kAnyRank;
    std::string why;
    try {
      const bool beside_service = serving_;
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
        throw;  // the service failed, and has said why
      }
    }
    node_.forget(lost);
    on_lost(lost, why);
    return std::nullopt;
  }

  // Of a process that was started here, its end or its silence will tell why.
  void on_lost(Rank rank, const std::string& why) {
    const ProcessState& process = processes_[static_cast<std::size_t>(rank)];
    if (process.pid == 0 && !process.failed && !leaving_) {
      suspect(rank, "is lost: " + why, false);
    }
  }

  void handle(const Message& message) {
    const bool known = message.from >= 0 && message.from < std::ssize(processes_);
    if (!known || !understand(processes_[static_cast<std::size_t>(message.from)], message)) {
      suspect(message.from, "sent a message that makes no sense", false);
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
      case Control::kProgress:
        return on_progress(message.from, decode<ProgressInfo>(message.payload));
      case Control::kSnapshot:
        return on_snapshot(decode<SnapshotInfo>(message.payload));
      case Control::kDone:
        worker.done = decode<DoneInfo>(message.payload);
        return worker.done.has_value();
      case Control::kFailed:
        if (auto info = decode<FailedInfo>(message.payload)) {
          worker.failed = true;
          suspect(message.from, "failed: " + info->reason, info->peer >= 0);
          return true;
        }
        return false;
      case Control::kAsk:
        if (auto info = decode<FailedInfo>(message.payload)) {
          asked_ = asked_ ? asked_ : info->reason;
          return true;
        }
        return false;
      default:
        return false;
    }
  }

  // Whose data differ would deal out other samples than the others, or none that are there.
  bool on_ready(Rank rank, const std::optional<ReadyInfo>& info) {
    const auto place = static_cast<std::size_t>(rank);
    const bool fits = info && (!is_worker(place) || info->training_samples == dataset_);
    if (info && !fits) {
      suspect(
          rank,
          fmt::format("has {} training samples, this run has {}", info->training_samples, dataset_),
          false);
    }
    processes_[place].ready = fits;
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
    processes_[static_cast<std::size_t>(rank)].activity = info->activity;
    monitor_.on_news(rank, info->news);
    if (!is_worker(static_cast<std::size_t>(rank))) {
      return true;  // a server has a journal, and no progress of its own
    }
    RunProgress progress{info->seconds, info->progress.samples, limit_, std::nullopt};
    loss_.add(info->loss);
    progress.loss = info->loss.mean();
    if (progress.samples > reported_samples_) {
      reported_samples_ = progress.samples;
      monitor_.on_progress(progress);
    }
    return true;
  }

  bool on_snapshot(std::optional<SnapshotInfo> info) {
    if (!info) {
      return false;
    }
    if (info->note.last) {
      last_snapshot_ = std::move(info);  // behind all others, which may still be on their way
    } else if (auto whole = merger_.add(std::move(*info))) {
      evaluate(std::move(*whole));
    }
    return true;
  }

  void evaluate_last_snapshot() {
    if (last_snapshot_) {
      evaluate(std::move(*last_snapshot_));
    }
  }

  void evaluate(SnapshotInfo info) {
    model_ = info.snapshot;
    info.note.loss = loss_.take();
    evaluator_.add(std::move(info));
  }

  void look_at_processes() {
    while (auto exit = children_.poll()) {
      if (!leaving_ || exit->status != 0) {
        suspect(exit->rank, describe_status(exit->status), exited_by_itself(exit->status));
      }
    }
  }

  // An exit code follows a reason that was told before; a signal is a reason of its own.
  static bool exited_by_itself(int status) { return WIFEXITED(status); }

  void look_at_rendezvous() {
    const Seconds before = node_.now();
    rendezvous_->look();
    for (ProcessState& process : processes_) {
      process.heard += node_.now() - before;  // nobody could be heard meanwhile
    }
    if (introduced_) {
      return;
    }
    if (const auto conflict = rendezvous_->conflict()) {
      throw RunFailed(*conflict);
    }
    std::vector<Rank> missing;
    for (std::size_t rank = 0; rank < processes_.size(); ++rank) {
      if (!processes_[rank].endpoint) {
        missing.push_back(static_cast<Rank>(rank));
      }
    }
    if (!missing.empty() && node_.now() > gathering_.patience) {
      throw RunFailed(fmt::format("{} missing: not at the rendezvous within {:g} s",
                                  show_ranks(missing) + (missing.size() == 1 ? " is" : " are"),
                                  gathering_.patience));
    }
  }

  void look_at_clocks() {
    if (leaving_) {
      return;
    }
    if (introduced_ && node_.now() - beat_ > job_.cluster.heartbeat / kHeartbeatsPerDeadline) {
      beat_ = node_.now();
      tell_all(Control::kHeartbeat);  // whose network is gone would wait for ever
    }
    for (std::size_t rank = 0; rank < processes_.size(); ++rank) {
      const ProcessState& worker = processes_[rank];
      const Seconds patience = worker.started ? job_.cluster.heartbeat : gathering_.patience;
      const bool may_be_silent = worker.endpoint && !worker.started;  // it waits for the others
      if (!may_be_silent && node_.now() - worker.heard > patience) {
        suspect(static_cast<Rank>(rank), fmt::format("gave no sign of life for {:g} s", patience),
                false);
      }
    }
  }

  void look_at_monitor() {
    if (monitor_.abandon_requested()) {
      throw RunFailed("interrupted; the model was not saved");
    }
    if (stopped_ || leaving_) {
      return;
    }
    if (auto reason = monitor_.stop_requested()) {
      stopped_ = reason;
    } else if (asked_) {
      stopped_ = asked_;
    } else if (evaluator_.target_reached()) {
      stopped_ = "target";
    }
    stopping_ = stopped_.has_value();
    if (stopped_ && !introduced_ && awaits_peers()) {
      throw RunFailed(fmt::format("stopped by {} before everybody had come", *stopped_));
    }
    if (stopped_ && introduced_) {
      tell_to_stop();
    }
  }

  void tell_to_stop() { tell_all(Control::kStop, encode(FailedInfo{kAnyRank, *stopped_})); }

  // From the start of training on every worker has the quota of its speed; while it loads, none.
  void look_at_speeds() {
    if (!gathering_.quotas || !training_) {
      return;
    }
    const auto quotas = quotas_at(job_.cluster, node_.now(), cores_here());
    for (std::size_t rank = 0; rank < quotas.size(); ++rank) {
      if (processes_[rank].quota != quotas[rank]) {
        processes_[rank].quota = quotas[rank];
        expect(gathering_.quotas->set(static_cast<Rank>(rank), quotas[rank]));
      }
    }
  }

  static void expect(const Status& status) {
    if (!status) {
      throw RunFailed(status.error().message);
    }
  }

  void take_metrics() {
    while (auto judgement = evaluator_.take()) {
      service_journal_.add(judgement->span);
      monitor_.on_metric(judgement->metric);
    }
  }

  void tell_service_news() {
    service_journal_.take(service_news_.entries);
    monitor_.on_news(kCoordinator, service_news_);
  }

  // `consequence`: it may have failed only because another one did.
  void suspect(Rank rank, const std::string& what, bool consequence) {
    const int server = rank - job_.cluster.workers;
    const std::string name =
        server >= 0 ? fmt::format("server {}", server) : fmt::format("worker {}", rank);
    cause_.suspect(fmt::format("{} ({}) {}", name, whereabouts(rank), what), node_.now(),
                   consequence);
  }

  std::string whereabouts(Rank rank) const {
    const bool known = rank >= 0 && rank < std::ssize(processes_);
    const pid_t pid = known ? processes_[static_cast<std::size_t>(rank)].pid : 0;
    const auto peer = known && pid == 0 ? rendezvous_->peer(rank) : std::nullopt;
    return peer ? fmt::format("pid {} on {}", peer->pid, peer->host) : fmt::format("pid {}", pid);
  }

  void throw_root_cause() {
    if (const auto why = cause_.verdict(node_.now())) {
      throw RunFailed(*why);
    }
  }

  bool is_worker(std::size_t rank) const {
    return rank < static_cast<std::size_t>(job_.cluster.workers);
  }

  template <class Predicate>
  bool all(Predicate predicate) const {
    return std::all_of(processes_.begin(), processes_.end(), predicate);
  }

  void tell_all(Control kind, const Payload& payload = {}) {
    for (Rank rank = 0; rank < std::ssize(processes_); ++rank) {
      node_.send(rank, Channel::kControl, header_of(kind), payload);
    }
  }

  RunOutcome outcome() {
    RunOutcome outcome;
    outcome.model = std::move(model_);
    outcome.service = service_;
    outcome.stopped = stopped_;
    add_results(outcome, processes_, job_.cluster.workers);
    return outcome;
  }

  const Job& job_;
  RunMonitor& monitor_;
  const Gathering gathering_;
  const std::string token_;  // of the fabric
  std::vector<ProcessState> processes_;
  Driver driver_;
  RealNode node_;
  TcpFabric fabric_;
  std::unique_ptr<Rendezvous> rendezvous_;
  const std::int64_t dataset_;  // training samples in it
  const std::int64_t limit_;
  EvaluationThread evaluator_;
  bool training_ = false;  // the workers were let go
  Seconds looked_ = 0;     // when it last looked at anything but messages
  Seconds beat_ = 0;       // when it last gave a sign of life
  std::int64_t reported_samples_ = 0;
  LossMeter loss_;  // since the last evaluation
  SnapshotMerger merger_;
  Snapshot model_;
  std::optional<SnapshotInfo> last_snapshot_;  // of the run
  ServiceResult service_;                      // of the service's thread, until that has ended
  std::atomic<bool> serving_ = false;          // the method's service is at work
  Journal service_journal_;
  WorkerNews service_news_;
  std::optional<std::string> asked_;  // a worker would like to stop
  std::optional<std::string> stopped_;
  std::atomic<bool> stopping_ = false;  // the same, for the service
  RootCause cause_;
  bool introduced_ = false;  // workers can be reached
  bool leaving_ = false;
  Children children_;  // last: killed before anything they talk to is gone
};

Coordinator::Coordinator(const Job& job, Task& task, RunMonitor& monitor, Gathering gathering)
    : impl_(std::make_unique<Impl>(job, task, monitor, std::move(gathering))) {}
Coordinator::~Coordinator() = default;
Endpoint Coordinator::rendezvous() const { return impl_->rendezvous(); }
const std::string& Coordinator::token() const { return impl_->token(); }
Admission Coordinator::admission_of_host() const { return impl_->admission_of_host(); }
RunOutcome Coordinator::run() { return impl_->run(); }

}  // namespace motley
