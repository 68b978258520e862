#include "runtime/worker.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "fabric/driver.h"
#include "fabric/tcp.h"
#include "runtime/clock_offset.h"
#include "runtime/control.h"
#include "runtime/real_node.h"
#include "runtime/run.h"
#include "sync/loop.h"

namespace motley {
namespace {

constexpr double kGoodbyeSeconds = 2;
constexpr Seconds kProgressInterval = 0.1;
constexpr int kClockProbes = 8;

// Tells the coordinator that this process is alive, and more, whatever the training thread is
// doing.
class Heartbeat {
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

class Worker final : public FabricSink, public Observer {
 public:
  explicit Worker(const WorkerOptions& options)
      : options_(options),
        node_(driver_, options.rank, 0),
        fabric_(driver_, *this, {.self = options.rank, .token = options.token}) {
    node_.attach(fabric_);
    fabric_.set_peer(kCoordinator, options.coordinator);
  }

  int run(const JobLoader& load) {
    FailedInfo failure;
    try {
      if (Status status = work(load); status) {
        fabric_.close(kGoodbyeSeconds);
        return 0;
      } else {
        failure.reason = status.error().message;
      }
    } catch (const Interrupted& interrupted) {
      failure = {interrupted.peer(), interrupted.what()};
    } catch (const std::exception& exception) {
      failure.reason = exception.what();
    }
    if (!coordinator_gone_) {
      tell(Control::kFailed, encode(failure));
      fabric_.close(kGoodbyeSeconds);
    }
    return 1;
  }

 private:
  Status work(const JobLoader& load) {
    tell(Control::kJoin, encode(JoinInfo{fabric_.endpoint()}));
    const auto start = decode<StartInfo>(await(Control::kStart).payload);
    if (!start) {
      return fail("the coordinator's start message is damaged");
    }
    Heartbeat heartbeat(std::min(start->heartbeat, kProgressInterval), [this] { beat(); });
    const auto loaded = load(start->job, options_.rank);
    if (!loaded) {
      return tl::unexpected(loaded.error());
    }
    for (std::size_t rank = 0; rank < start->endpoints.size(); ++rank) {
      fabric_.set_peer(static_cast<Rank>(rank), start->endpoints[rank]);
    }
    node_.set_size(loaded->job.cluster.workers);
    return loaded->task ? train_job(loaded->job, *loaded->task) : hold_parameters(loaded->job);
  }

  Status train_job(const Job& job, Task& task) {
    node_.set_paced(!job.cluster.has_quotas());
    auto replica = task.make_replica();
    const Part part{job,
                    task.training_samples(),
                    *replica,
                    *this,
                    [this] { return stop_requested_.load(); },
                    nullptr,
                    &journal_};
    if (Status status = await_go(); !status) {
      return status;
    }
    training_ = true;
    DoneInfo done;
    node_.run([&](Node& node) { done.result = train(node, part); });
    training_ = false;
    tell_progress();

    done.cluster_samples = last_.samples;
    done.bytes_sent = fabric_.bytes_sent();
    done.paced_steps = node_.pace().steps;
    done.missed_steps = node_.pace().missed;
    if (options_.rank == 0) {
      send_snapshot({done.result.times.seconds, last_.samples, true, {}, {}}, *replica);
    } else {
      done.result.allocation.history.clear();  // one worker's is enough
    }
    tell(Control::kDone, encode(done));
    await(Control::kLeave);
    return {};
  }

  // A server's part.
  Status hold_parameters(const Job& job) {
    if (Status status = await_go(); !status) {
      return status;
    }
    node_.run([&](Node& node) { hold(node, job); });
    DoneInfo done;
    done.bytes_sent = fabric_.bytes_sent();
    tell(Control::kDone, encode(done));
    await(Control::kLeave);
    return {};
  }

  // The coordinator's clock, in this one's time.
  Status find_clock() {
    std::vector<ClockProbe> probes;
    for (int i = 0; i < kClockProbes; ++i) {
      const std::int64_t asked = clock_ns();
      tell(Control::kClock);
      const auto answer = await(Control::kClock).payload.record<ClockInfo>();
      if (!answer) {
        return fail("the coordinator's clock message is damaged");
      }
      probes.push_back({asked, answer->now_ns, clock_ns()});
    }
    clock_offset_ = clock_offset(probes);
    return {};
  }

  static std::int64_t clock_ns() { return Driver::Clock::now().time_since_epoch().count(); }

  Status await_go() {
    if (Status status = find_clock(); !status) {
      return status;
    }
    tell(Control::kReady);
    const auto go = await(Control::kGo).payload.record<GoInfo>();
    if (!go) {
      return fail("the coordinator's go message is damaged");
    }
    node_.restart_clock(
        Driver::Clock::time_point(std::chrono::nanoseconds(go->began_ns - clock_offset_)));
    return {};
  }

  void on_step(Seconds now, const Progress& progress, const WorkerResult& so_far) override {
    last_ = progress;
    std::lock_guard lock(telling_);
    progress_.loss.add(progress.loss_sum, progress.loss_samples);
    progress_.seconds = now;
    progress_.progress = progress;
    progress_.news.figures = figures_of(so_far, 0);
  }

  // On the heartbeat's thread.
  void beat() {
    if (training_) {
      tell_progress();
    } else {
      tell(Control::kHeartbeat);
    }
  }

  void tell_progress() {
    std::lock_guard lock(telling_);
    progress_.activity = journal_.activity();
    progress_.news.figures.bytes_sent = fabric_.bytes_sent();
    journal_.take(progress_.news.entries);
    tell(Control::kProgress, encode(progress_));
    progress_.loss = {};
  }

  void on_snapshot(Seconds now, const Progress& progress, Replica& replica) override {
    tell_progress();  // before it: the losses that led to this model
    send_snapshot({now, progress.samples, false, *progress.evaluate, {}}, replica);
  }

  void send_snapshot(const SnapshotNote& note, Replica& replica) {
    tell(Control::kSnapshot, encode(SnapshotInfo{note, snapshot_of(replica)}));
  }

  void on_message(Message message) override {
    if (message.channel == Channel::kControl && kind_of(message) == Control::kStop) {
      stop_requested_ = true;
    } else {
      node_.on_message(std::move(message));
    }
  }

  void on_peer_lost(Rank peer, const std::string& reason) override {
    if (peer == kCoordinator) {
      coordinator_gone_ = true;
      node_.stop(reason);
    } else {
      node_.on_peer_lost(peer, reason);
    }
  }

  void tell(Control kind, Payload payload = {}) {
    fabric_.send(kCoordinator, {options_.rank, Channel::kControl, header_of(kind), payload});
  }

  Message await(Control kind) {
    Message message = node_.receive({Channel::kControl, kCoordinator});
    if (kind_of(message) != kind) {
      throw std::runtime_error("the coordinator spoke out of turn");
    }
    return message;
  }

  const WorkerOptions options_;
  Driver driver_;
  RealNode node_;
  TcpFabric fabric_;
  std::atomic<bool> stop_requested_ = false;
  std::atomic<bool> coordinator_gone_ = false;
  Progress last_;
  std::int64_t clock_offset_ = 0;  // of the coordinator's clock, in nanoseconds
  Journal journal_;
  std::atomic<bool> training_ = false;
  std::mutex telling_;     // training thread and heartbeat
  ProgressInfo progress_;  // guarded by it: what was last known
};

}  // namespace

int run_worker(const WorkerOptions& options, const JobLoader& load) {
  return Worker(options).run(load);
}

}  // namespace motley
