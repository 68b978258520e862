// What a worker says and hears while its training thread does something else.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>

#include "runtime/run/run.h"
#include "runtime/worker/worker.h"

namespace motley {
namespace {

Hearing::Moment this_moment() { return Driver::Clock::now().time_since_epoch(); }

std::vector<double> numbers_in(const Payload& payload) {
  std::vector<double> numbers(payload.bytes().size() / sizeof(double));
  std::memcpy(numbers.data(), payload.bytes().data(), numbers.size() * sizeof(double));
  return numbers;
}

}  // namespace

void Worker::on_step(Seconds now, const Progress& progress, const WorkerResult& so_far) {
  last_ = progress;
  so_far_ = so_far;
  has_trained_ = true;
  std::lock_guard lock(telling_);
  progress_.loss.add(progress.loss_sum, progress.loss_samples);
  progress_.seconds = now;
  progress_.progress = progress;
  if (!progress.is_summed) {
    progress_.counts.resize(std::max(progress_.counts.size(), progress.counts.size()));
    std::ranges::transform(progress.counts, progress_.counts, progress_.counts.begin(),
                           std::plus());
  }
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
  fabric_.pulse();
}

// On the heartbeat's thread. A network that is gone delivers nothing, not even a disconnect.
void Worker::listen() {
  const Hearing::Moment silence = hearing_.silence(this_moment());
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
  progress_.counts = {};
}

void Worker::on_snapshot(Seconds now, const Progress& progress, Replica&) {
  tell_progress();  // first the losses that led to this model
  send_snapshot({now, progress.samples, false, *progress.evaluate, {}});
}

void Worker::send_snapshot(const SnapshotNote& note) {
  tell(Control::kSnapshot, encode(SnapshotInfo{note, snapshot_of(*replica_)}));
}

bool Worker::has_evaluation() const {
  std::lock_guard lock(telling_);
  return !evaluated_.empty();
}

std::optional<EvaluatedInfo> Worker::next_evaluation() {
  std::lock_guard lock(telling_);
  if (evaluated_.empty()) {
    return std::nullopt;
  }
  EvaluatedInfo first = std::move(evaluated_.front());
  evaluated_.pop_front();
  return first;
}

std::vector<double> Worker::counts() const {
  std::lock_guard lock(telling_);
  return counts_;
}

// What does not wait for the training thread. Returns whether that is all.
bool Worker::handle(const Message& message) {
  switch (kind_of(message)) {
    case Control::kHeartbeat:
      return true;
    case Control::kStateReceived:
      state_sender_.acknowledge(kCoordinator);
      return true;
    case Control::kStop: {
      const auto info = decode<FailedInfo>(message.payload);
      std::lock_guard lock(telling_);
      stopped_ = info ? info->reason : "the coordinator";
      stop_requested_ = true;
      return true;
    }
    case Control::kEvaluated: {
      if (auto info = decode<EvaluatedInfo>(message.payload)) {
        std::lock_guard lock(telling_);
        evaluated_.push_back(std::move(*info));
      }
      return true;
    }
    case Control::kCounts: {
      std::lock_guard lock(telling_);
      counts_ = numbers_in(message.payload);
      return true;
    }
    case Control::kAbort: {
      const auto info = decode<FailedInfo>(message.payload);
      const std::string reason = info ? info->reason : "the coordinator ended the run";
      {
        std::lock_guard lock(telling_);
        abort_ = reason;
      }
      node_.stop(reason);
      return true;
    }
    case Control::kCut: {
      const auto info = message.payload.record<TermNumber>();
      cut_term_ = info ? info->term : cut_term_.load();
      return true;
    }
    case Control::kCutOff: {
      const auto cut = decode<CutOffInfo>(message.payload);
      std::lock_guard lock(telling_);
      if (cut && cut->term == term_number_) {
        node_.end_term(cut->why);
      }
      return false;  // the training thread settles
    }
    default:
      return false;
  }
}

void Worker::on_message(Message message) {
  const bool is_told = message.from == kCoordinator && message.channel == Channel::kControl;
  if (message.from == kCoordinator) {
    hearing_.hear(this_moment());
  }
  if (!is_told || !handle(message)) {
    node_.on_message(std::move(message));
  }
}

// A term does not go on without one of its members. The coordinator decides what follows.
void Worker::on_peer_lost(Rank peer, const std::string& reason) {
  if (peer == kCoordinator) {
    coordinator_gone_ = true;
    node_.stop(reason);
    return;
  }
  std::lock_guard lock(telling_);
  lost_peers_[peer] = reason;
  if (std::ranges::count(members_, peer) > 0) {
    tell_lost(peer, reason);
    node_.end_term(reason);
  }
}

// With telling_ locked.
void Worker::tell_lost(Rank process, const std::string& why) {
  tell(Control::kPeerLost, encode(LostInfo{term_number_, process, why}));
}

void Worker::tell(Control kind, Payload payload) {
  fabric_.send(kCoordinator, {process_, Channel::kControl, header_of(kind), std::move(payload)});
}

}  // namespace motley
