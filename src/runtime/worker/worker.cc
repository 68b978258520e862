#include "runtime/worker/worker.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/reason.h"
#include "runtime/run/run.h"
#include "runtime/worker/clock_offset.h"

namespace motley {
namespace {

constexpr Seconds kProgressInterval = 0.1;
constexpr Seconds kWaitSlice = 0.1;  // between two checks for signals
constexpr Seconds kWaitingBeat = 1;  // between two heartbeats before the start
constexpr int kClockProbes = 8;
// A multiple of the patience with others: the run cannot go on without it, and it may
// only have been stopped for a while.
constexpr int kPatienceWithCoordinator = 4;
constexpr Seconds kVerdictSeconds = 3;  // for the coordinator to say why the run fails
constexpr auto kVerdictNap = std::chrono::milliseconds(5);

std::int64_t clock_ns() { return Driver::Clock::now().time_since_epoch().count(); }

}  // namespace

Worker::Worker(const Admission& admission)
    : process_(admission.rank),
      coordinator_host_(admission.coordinator.host),
      node_(driver_, process_, 0),
      fabric_(driver_, *this,
              {.self = process_,
               .token = admission.token,
               .address = admission.here,
               .patience_with_coordinator = kPatienceWithCoordinator}),
      state_sender_(
          [this](Rank, std::int64_t number, std::vector<std::byte> chunk) {
            Header header = header_of(Control::kState);
            header.a = number;
            fabric_.send(kCoordinator, {process_, Channel::kControl, header,
                                        Payload::copy_of(std::span<const std::byte>(chunk))});
          },
          [this](const std::exception_ptr& error) { give_up(error); }) {
  node_.attach(fabric_);
  fabric_.set_peer(kCoordinator, admission.coordinator);
}

// First of all nobody may call back any longer: a message would go into members that are gone.
Worker::~Worker() {
  heartbeat_.reset();
  state_sender_.stop();
  fabric_.stop();
}

Result<Message> Worker::await_start(const Interruption& interrupted) {
  Seconds told = node_.now();
  while (true) {
    auto message = node_.receive_until({Channel::kControl, kCoordinator}, node_.now() + kWaitSlice);
    if (message) {
      return std::move(*message);
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
  auto start =
      kind_of(*message) == Control::kStart ? decode<StartInfo>(message->payload) : std::nullopt;
  if (!start) {
    return motley::fail("the coordinator's start message is damaged");
  }
  is_server_ = start->is_server;
  const Seconds deadline = kHeartbeatsPerDeadline * start->heartbeat;
  patience_ = kPatienceWithCoordinator * kStuckHeartbeats * deadline;
  fabric_.set_stuck_after(kStuckHeartbeats * deadline);
  heartbeat_ = std::make_unique<Heartbeat>(std::min(start->heartbeat, kProgressInterval), [this] {
    try {
      beat();
      listen();
    } catch (...) {
      give_up(std::current_exception());
    }
  });
  return std::move(start->job);
}

Status Worker::start(const Job& job, Replica& replica, std::int64_t training_samples,
                     Beginning beginning) {
  node_.set_paced(!job.cluster.has_quotas());
  training_samples_ = training_samples;
  replica_ = &replica;
  beginning_ = beginning;
  return get_ready(job, training_samples);
}

Status Worker::get_ready(const Job& job, std::int64_t training_samples) {
  run_job_ = job;
  if (Status status = find_clock(); !status) {
    return status;
  }
  tell(Control::kReady, Payload::of_record(ReadyInfo{training_samples}));
  return {};
}

std::optional<Work> Worker::begin() {
  while (!is_over_) {
    try {
      if (in_term_) {
        if (auto work = training_->begin()) {
          step_began_ = node_.now();
          return work;
        }
        node_.run([](Node&) {});  // waits for activities that the method spawned
        note_end(training_->so_far());
        tell_end_of_term();
      }
    } catch (const Interrupted&) {
      rethrow_unless_cut_off();
    }
    in_term_ = false;
    await_term();
  }
  return std::nullopt;
}

// What a step has not finished when its term is cut off is done by those who go on.
bool Worker::finish(const StepResult& result) {
  try {
    node_.make_last(step_began_, training_->cost());
    training_->finish(result);
    return true;
  } catch (const Interrupted&) {
    rethrow_unless_cut_off();
    in_term_ = false;
    return training_->has_applied();
  }
}

// Call in a handler of Interrupted.
void Worker::rethrow_unless_cut_off() const {
  if (!node_.term_ended()) {
    throw;
  }
}

void Worker::leave() { close(); }

// Agreeing on the final model came after the last step.
void Worker::note_end(const WorkerResult& result) {
  so_far_ = result;
  std::lock_guard lock(telling_);
  progress_.seconds = result.times.seconds;
  progress_.news.figures = figures_of(result, 0);
}

Status Worker::run_server(const Job& job) {
  if (Status status = get_ready(job, 0); !status) {
    return status;
  }
  while (await_term()) {
    const auto serve = [&](Node& node) {
      figures_ = motley::run_server(node, *job_, &journal_, &server_);
    };
    node_.run(serve);  // returns if the term is cut off
    if (!node_.term_ended()) {
      tell_end_of_term();
    }
  }
  close();
  return {};
}

void Worker::close() {
  training_now_ = false;
  state_sender_.stop();
  heartbeat_.reset();
  fabric_.close(kGoodbyeSeconds);
}

std::string Worker::fail(const std::exception_ptr& error) {
  release_memory();
  try {
    std::rethrow_exception(error);
  } catch (const Interrupted& interrupted) {
    is_lost_ = coordinator_gone_;
    return report({interrupted.peer(), interrupted.what()});
  } catch (...) {
    return fail({kAnyRank, plain_reason(error)});
  }
}

std::string Worker::fail(const FailedInfo& failure) {
  has_failed_ = true;
  return report(failure);
}

// The first cause may be elsewhere, and only the coordinator sees all failures.
std::string Worker::report(const FailedInfo& failure) {
  if (!verdict() && !coordinator_gone_ && !dropped_out_) {
    tell(Control::kFailed, encode(failure));
    const auto deadline = Driver::Clock::now() + std::chrono::duration<double>(kVerdictSeconds);
    while (!verdict() && !coordinator_gone_ && Driver::Clock::now() < deadline) {
      std::this_thread::sleep_for(kVerdictNap);
    }
  }
  close();
  return verdict().value_or(failure.reason);
}

// On a thread that helps: the training thread reports it as soon as it waits for anything.
void Worker::give_up(const std::exception_ptr& error) {
  release_memory();
  node_.stop(plain_reason(error));
}

void Worker::ask_to_stop(const std::string& why) {
  tell(Control::kAsk, encode(FailedInfo{kAnyRank, why}));
  stop_requested_ = true;
}

void Worker::ask_to_leave() {
  asked_to_leave_ = true;
  tell(Control::kLeaving);
}

void Worker::drop_out() {
  dropped_out_ = true;
  node_.stop("this process goes away");
}

std::optional<std::string> Worker::verdict() const {
  std::lock_guard lock(telling_);
  return abort_;
}

WorkerEnd Worker::end() const {
  return {.let_go = is_over_,
          .run_is_over = run_is_over_,
          .took_part = job_ != nullptr,
          .told_why = verdict().has_value(),
          .failed = has_failed_,
          .lost = is_lost_,
          .asked_to_leave = asked_to_leave_,
          .trained = has_trained_};
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
    const Message message = node_.receive({Channel::kControl, kCoordinator});
    if (kind_of(message) == Control::kLeave) {
      is_over_ = true;  // the run was over before this newcomer was ready
      return {};
    }
    const auto answer =
        kind_of(message) == Control::kClock ? message.payload.record<ClockInfo>() : std::nullopt;
    if (!answer) {
      return motley::fail("the coordinator's clock message is damaged");
    }
    probes.push_back({asked, answer->now_ns, clock_ns()});
  }
  clock_offset_ = clock_offset(probes);
  return {};
}

}  // namespace motley
