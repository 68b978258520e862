#include "runtime/worker/worker.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <thread>
#include <utility>

#include "runtime/rendezvous/addresses.h"
#include "runtime/run/run.h"
#include "runtime/worker/clock_offset.h"
#include "sync/broadcast.h"

namespace motley {
namespace {

constexpr Seconds kProgressInterval = 0.1;
constexpr Seconds kWaitSlice = 0.1;  // between two checks for signals
constexpr Seconds kWaitingBeat = 1;  // between two heartbeats before the start
constexpr int kClockProbes = 8;
// A multiple of the coordinator's deadline for workers: the coordinator should notice first and
// report.
constexpr double kPatienceWithCoordinator = 2;
constexpr Seconds kVerdictSeconds = 3;  // for the coordinator to say why the run fails
constexpr auto kVerdictNap = std::chrono::milliseconds(5);

Message expect_kind(Message message, Control kind) {
  if (kind_of(message) != kind) {
    throw std::runtime_error("unexpected message from the coordinator");
  }
  return message;
}

std::int64_t clock_ns() { return Driver::Clock::now().time_since_epoch().count(); }

}  // namespace

// Sends heartbeats and progress to the coordinator, whatever the training thread is doing.
class Worker::Heartbeat {
 public:
  Heartbeat(Seconds interval, std::function<void()> beat)
      : interval_(interval), beat_(std::move(beat)), thread_([this] { go_on(); }) {}
  ~Heartbeat() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

 private:
  void go_on() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      beat_();
      changed_.wait_for(lock, interval_, [&] { return stopping_; });
    }
  }

  const std::chrono::duration<double> interval_;
  const std::function<void()> beat_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::thread thread_;
};

Worker::Worker(const Admission& admission)
    : rank_(admission.rank),
      coordinator_host_(admission.coordinator.host),
      node_(driver_, rank_, 0),
      fabric_(driver_, *this,
              {.self = rank_, .token = admission.token, .address = admission.here}) {
  node_.attach(fabric_);
  fabric_.set_peer(kCoordinator, admission.coordinator);
}

Worker::~Worker() = default;

Result<Message> Worker::await_start(const Interruption& interrupted) {
  Seconds told = node_.now();
  while (true) {
    auto message = node_.receive_until({Channel::kControl, kCoordinator}, node_.now() + kWaitSlice);
    if (message) {
      return expect_kind(std::move(*message), Control::kStart);
    }
    if (const auto why = interrupted ? interrupted() : std::nullopt) {
      return motley::fail("{}", *why);
    }
    if (node_.now() - told > kWaitingBeat) {
      told = node_.now();
      tell(Control::kHeartbeat);  // fails if the coordinator is gone
    }
  }
}

Result<std::string> Worker::join(const Interruption& interrupted) {
  tell(Control::kJoin, encode(JoinInfo{fabric_.endpoint()}));
  const auto message = await_start(interrupted);
  if (!message) {
    return tl::unexpected(message.error());
  }
  auto start = decode<StartInfo>(message->payload);
  if (!start) {
    return motley::fail("the coordinator's start message is damaged");
  }
  endpoints_ = std::move(start->endpoints);
  for (Endpoint& endpoint : endpoints_) {
    if (endpoint.host == kAnyAddress) {
      endpoint.host = coordinator_host_;
    }
  }
  patience_ = kPatienceWithCoordinator * kHeartbeatsPerDeadline * start->heartbeat;
  heartbeat_ = std::make_unique<Heartbeat>(std::min(start->heartbeat, kProgressInterval), [this] {
    beat();
    listen();
  });
  return std::move(start->job);
}

void Worker::meet(const Job& job) {
  for (std::size_t rank = 0; rank < endpoints_.size(); ++rank) {
    fabric_.set_peer(static_cast<Rank>(rank), endpoints_[rank]);
  }
  node_.set_size(job.cluster.workers);
}

Status Worker::start(const Job& job, Replica& replica, std::int64_t training_samples,
                     Beginning beginning) {
  meet(job);
  node_.set_paced(!job.cluster.has_quotas());
  replica_ = &replica;
  beginning_ = beginning;
  if (beginning_ == Beginning::kOfRankZero) {
    broadcast_model(node_, replica);
  }
  if (Status status = await_go(training_samples); !status) {
    return status;
  }
  const Part part{
      job,     training_samples, replica, *this, [this] { return stop_requested_.load(); },
      nullptr, &journal_};
  training_now_ = true;
  training_ = std::make_unique<Training>(node_, part);
  return {};
}

std::optional<Work> Worker::begin() {
  auto work = training_->begin();
  step_began_ = node_.now();
  return work;
}

void Worker::finish(double loss_sum) {
  node_.make_last(step_began_, training_->cost());
  training_->finish(loss_sum);
}

void Worker::leave() {
  training_->end_run();
  node_.run([](Node&) {});  // waits for activities that the method spawned
  training_now_ = false;
  DoneInfo done;
  done.result = training_->result();
  note_end(done.result);
  tell_progress();
  if (beginning_ == Beginning::kOfRankZero) {
    broadcast_model(node_, *replica_);
  }

  done.cluster_samples = last_.samples;
  done.paced_steps = node_.pace().steps;
  done.missed_steps = node_.pace().missed;
  if (rank_ == 0) {
    send_snapshot({done.result.times.seconds, last_.samples, true, {}, {}});
  } else {
    done.result.allocation.history.clear();  // rank 0's is enough
  }
  tell_done(std::move(done));
}

// Agreeing on the final model came after the last step.
void Worker::note_end(const WorkerResult& result) {
  so_far_ = result;
  std::lock_guard lock(telling_);
  progress_.seconds = result.times.seconds;
  progress_.news.figures = figures_of(result, 0);
}

Status Worker::run_server(const Job& job) {
  meet(job);
  if (Status status = await_go(0); !status) {
    return status;
  }
  DoneInfo done;
  training_now_ = true;
  node_.run([&](Node& node) { done.figures = motley::run_server(node, job, &journal_); });
  training_now_ = false;
  tell_progress();  // what is left of the journal
  tell_done(std::move(done));
  return {};
}

void Worker::tell_done(DoneInfo done) {
  done.bytes_sent = fabric_.bytes_sent();
  tell(Control::kDone, encode(done));
  await(Control::kLeave);
  heartbeat_.reset();
  fabric_.close(kGoodbyeSeconds);
}

std::string Worker::fail(const std::exception_ptr& error) {
  FailedInfo failure;
  try {
    std::rethrow_exception(error);
  } catch (const Interrupted& interrupted) {
    failure = {interrupted.peer(), interrupted.what()};
  } catch (...) {
    failure.reason = reason_of(error);
  }
  return fail(failure);
}

// The first cause may be elsewhere, and only the coordinator sees all failures.
std::string Worker::fail(const FailedInfo& failure) {
  const auto verdict = [&] {
    std::lock_guard lock(telling_);
    return abort_;
  };
  if (!verdict() && !coordinator_gone_) {
    tell(Control::kFailed, encode(failure));
    const auto deadline = Driver::Clock::now() + std::chrono::duration<double>(kVerdictSeconds);
    while (!verdict() && !coordinator_gone_ && Driver::Clock::now() < deadline) {
      std::this_thread::sleep_for(kVerdictNap);
    }
  }
  heartbeat_.reset();
  fabric_.close(kGoodbyeSeconds);
  return verdict().value_or(failure.reason);
}

void Worker::ask_to_stop(const std::string& why) {
  tell(Control::kAsk, encode(FailedInfo{kAnyRank, why}));
}

std::optional<std::string> Worker::stopped() const {
  std::lock_guard lock(telling_);
  return stopped_;
}

// Finds the offset of the coordinator's clock.
Status Worker::find_clock() {
  std::vector<ClockProbe> probes;
  for (int i = 0; i < kClockProbes; ++i) {
    const std::int64_t asked = clock_ns();
    tell(Control::kClock);
    const auto answer = await(Control::kClock).payload.record<ClockInfo>();
    if (!answer) {
      return motley::fail("the coordinator's clock message is damaged");
    }
    probes.push_back({asked, answer->now_ns, clock_ns()});
  }
  clock_offset_ = clock_offset(probes);
  return {};
}

Status Worker::await_go(std::int64_t training_samples) {
  if (Status status = find_clock(); !status) {
    return status;
  }
  tell(Control::kReady, Payload::of_record(ReadyInfo{training_samples}));
  const auto go = await(Control::kGo).payload.record<GoInfo>();
  if (!go) {
    return motley::fail("the coordinator's go message is damaged");
  }
  node_.restart_clock(
      Driver::Clock::time_point(std::chrono::nanoseconds(go->began_ns - clock_offset_)));
  return {};
}

void Worker::on_step(Seconds now, const Progress& progress, const WorkerResult& so_far) {
  last_ = progress;
  so_far_ = so_far;
  std::lock_guard lock(telling_);
  progress_.loss.add(progress.loss_sum, progress.loss_samples);
  progress_.seconds = now;
  progress_.progress = progress;
  progress_.news.figures = figures_of(so_far, 0);
}

// On the heartbeat's thread.
void Worker::beat() {
  if (training_now_) {
    tell_progress();
  } else {
    tell(Control::kHeartbeat);
  }
  if (const auto waiting = node_.waiting()) {
    tell(Control::kWaits, Payload::of_record(*waiting));
  }
}

// On the heartbeat's thread. A network that is gone delivers nothing, not even a disconnect.
void Worker::listen() {
  const std::chrono::nanoseconds silence(clock_ns() - heard_ns_);
  if (!coordinator_gone_ && silence > std::chrono::duration<double>(patience_)) {
    on_peer_lost(kCoordinator,
                 fmt::format("the coordinator gave no sign of life for {:g} s", patience_));
  }
}

void Worker::tell_progress() {
  std::lock_guard lock(telling_);
  progress_.activity = journal_.activity();
  progress_.news.figures.bytes_sent = fabric_.bytes_sent();
  journal_.take(progress_.news.entries);
  tell(Control::kProgress, encode(progress_));
  progress_.loss = {};
}

void Worker::on_snapshot(Seconds now, const Progress& progress, Replica&) {
  tell_progress();  // first the losses that led to this model
  send_snapshot({now, progress.samples, false, *progress.evaluate, {}});
}

void Worker::send_snapshot(const SnapshotNote& note) {
  tell(Control::kSnapshot, encode(SnapshotInfo{note, snapshot_of(*replica_)}));
}

void Worker::on_message(Message message) {
  const bool control = message.channel == Channel::kControl;
  if (message.from == kCoordinator) {
    heard_ns_ = clock_ns();
  }
  if (control && kind_of(message) == Control::kStop) {
    const auto info = decode<FailedInfo>(message.payload);
    {
      std::lock_guard lock(telling_);
      stopped_ = info ? info->reason : "the coordinator";
    }
    stop_requested_ = true;
  } else if (control && kind_of(message) == Control::kAbort) {
    const auto info = decode<FailedInfo>(message.payload);
    const std::string reason = info ? info->reason : "the coordinator ended the run";
    {
      std::lock_guard lock(telling_);
      abort_ = reason;
    }
    node_.stop(reason);
  } else if (!control || kind_of(message) != Control::kHeartbeat) {
    node_.on_message(std::move(message));
  }
}

void Worker::on_peer_lost(Rank peer, const std::string& reason) {
  if (peer == kCoordinator) {
    coordinator_gone_ = true;
    node_.stop(reason);
  } else {
    node_.on_peer_lost(peer, reason);
  }
}

void Worker::tell(Control kind, Payload payload) {
  fabric_.send(kCoordinator, {rank_, Channel::kControl, header_of(kind), std::move(payload)});
}

Message Worker::await(Control kind) {
  return expect_kind(node_.receive({Channel::kControl, kCoordinator}), kind);
}

}  // namespace motley
