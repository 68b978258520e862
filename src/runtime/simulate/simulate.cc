#include "runtime/simulate/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "motley/sync/method.h"
#include "runtime/coordinator/roster.h"
#include "runtime/run/run_logic.h"
#include "sim/cluster.h"
#include "sim/network.h"
#include "sync/loop.h"
#include "sync/ring_meeting.h"

namespace motley {
namespace {

// Of each rank, as in sim/network.h: without hosts, worker i is on machine i and each server on its
// own.
std::vector<std::string> machine_names(const Job& job) {
  const ClusterSpec& cluster = job.cluster;
  std::vector<std::string> names;
  for (int i = 0; i < cluster.workers; ++i) {
    names.push_back(
        fmt::format("{}", cluster.hosts.empty() ? i : cluster.hosts[static_cast<std::size_t>(i)]));
  }
  for (int i = 0; i < servers_of(job); ++i) {
    names.push_back(cluster.server_hosts.empty()
                        ? fmt::format("server {}", i)
                        : fmt::format("{}", cluster.server_hosts[static_cast<std::size_t>(i)]));
  }
  return names;
}

// Saves a value of the job; when restoring, it must be the same.
void expect(Archive& archive, const char* name, const std::string& value) {
  std::string saved = value;
  archive(name, saved);
  if (saved != value) {
    throw StateError(
        fmt::format("{} is {}, but the state is of a run with {}", name, value, saved));
  }
}

class Simulation {
 public:
  Simulation(const Job& job, Task& task, RunMonitor& monitor)
      : job_(job),
        task_(task),
        monitor_(monitor),
        training_samples_(task.training_samples()),
        logic_(rules_of(job, training_samples_)),
        bytes_before_(static_cast<std::size_t>(job.cluster.workers + servers_of(job)), 0) {
    for (Rank rank = 0; rank < job.cluster.workers; ++rank) {
      workers_.push_back(std::make_unique<Worker>(*this, rank));
    }
    for (int server = 0; server < servers_of(job); ++server) {
      servers_.push_back(std::make_unique<Server>());
    }
  }

  // Goes on from a checkpoint.
  void restore_all(const State& state) {
    restore(*this, state.part("run"));
    if (logic_.is_over_after(term_.begin)) {
      throw StateError(
          fmt::format("the run is complete after {} samples: raise train.epochs or "
                      "train.steps to go on",
                      term_.begin));
    }
    service_kept_.state() = state.part("service");
    const State of_workers = state.part("workers");
    for (auto& worker : workers_) {
      worker->restore_from(of_workers.part(std::to_string(worker->rank)));
    }
    const State of_servers = state.part("servers");
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      servers_[i]->kept.state() = of_servers.part(std::to_string(i));
    }
  }

  RunOutcome run() {
    monitor_.on_begin(
        [&](Rank rank) { return workers_[static_cast<std::size_t>(rank)]->journal.activity(); });
    while (!take_term()) {
    }
    return outcome();
  }

  // What the run itself keeps between two terms.
  void state(Archive& archive) {
    expect(archive, "method", job_.strategy.sync);
    expect(archive, "workers", std::to_string(job_.cluster.workers));
    expect(archive, "servers", std::to_string(servers_of(job_)));
    archive("term", term_.number);
    archive("samples", term_.begin);
    archive("seconds", seconds_);
    if (archive.is_saving()) {
      std::vector<std::int64_t> bytes = all_bytes_sent();
      std::int64_t all_events = events();
      archive("bytes_sent", bytes);
      archive("events", all_events);
    } else {
      archive("bytes_sent", bytes_before_);
      archive("events", events_before_);
    }
    archive("logic", logic_);
  }

 private:
  // One simulated worker, with its own replica like a real one.
  struct Worker final : public Observer {
    Worker(Simulation& simulation, Rank its_rank)
        : sim(simulation), rank(its_rank), replica(simulation.task_.make_replica()) {}

    void train_on(Node& node) {
      training = std::make_unique<Training>(
          node, Part{sim.job_, sim.training_samples_, *replica, *this,
                     [this] { return sim.stop_requested(*this); }, sim.meeting_.get(), &journal,
                     sim.term_, kept.empty() ? nullptr : &kept});
      train_term(node, *training, *replica);
      if (!sim.checkpoints()) {
        training->end_run();  // the run has one term
      }
    }

    State whole_state() {
      State state;
      state.put("training", kept);
      state.put("replica", state_of(*replica));
      return state;
    }

    void restore_from(const State& state) {
      kept = state.part("training");
      restore(*replica, state.part("replica"));
    }

    void on_step(Seconds seconds, const Progress& progress, const WorkerResult& so_far) override {
      cluster_samples = progress.samples;
      sim.tell_news(*this, so_far);
      sim.on_step(rank, seconds, progress);
    }

    void on_snapshot(Seconds seconds, const Progress& progress, Replica& its_replica) override {
      const SnapshotNote note{seconds, progress.samples, false, *progress.evaluate, {}};
      if (const auto whole = sim.logic_.on_snapshot({note, snapshot_of(its_replica)})) {
        sim.evaluate(*whole);
      }
    }

    Simulation& sim;
    const Rank rank;
    std::unique_ptr<Replica> replica;
    Journal journal;
    State kept;                          // from the last term; empty in the first one
    std::unique_ptr<Training> training;  // of this term
    std::int64_t cluster_samples = 0;    // at its last step
    std::int64_t asked = 0;              // how often it has asked whether to stop, in this term
  };

  struct Server {
    Journal journal;
    KeptState kept;
    Figures figures;  // set when it is done
  };
  Rank rank_of_server(std::size_t server) const {
    return job_.cluster.workers + static_cast<Rank>(server);
  }

  // Every term has a cluster of its own: no message passes from one to the next, and a run that
  // comes back is where the run was that went on. Returns whether the run is over.
  bool take_term() {
    forget_cluster();
    term_.end = end_of_term();
    cluster_ = std::make_unique<SimCluster>(job_.cluster, servers_of(job_),
                                            seed_of(job_.seed, term_), seconds_);
    cluster_->poll([&] { return monitor_.abandon_requested(); });
    if (job_.cluster.workers > RingMeeting::kMostByMessage) {
      meeting_ = std::make_unique<RingMeeting>(job_.cluster.workers, ground());
    }
    most_asked_ = 0;
    stops_at_.reset();
    start_all();
    run_cluster();
    const std::int64_t used = samples_used();
    // A method that takes no steps has done what it came for.
    const bool is_over = !checkpoints() || logic_.is_over_after(used) || used == term_.begin;
    if (checkpoints()) {
      keep_state(used);
      if (is_over) {
        end_run();
      }
    }
    return is_over;
  }

  // Adds up what it counted.
  void forget_cluster() {
    for (auto& worker : workers_) {
      worker->training.reset();  // it refers to the cluster
    }
    if (cluster_) {
      bytes_before_ = all_bytes_sent();
      events_before_ = events();
      cluster_.reset();
    }
  }

  std::vector<std::int64_t> all_bytes_sent() const {
    std::vector<std::int64_t> all;
    for (std::size_t rank = 0; rank < bytes_before_.size(); ++rank) {
      all.push_back(bytes_sent(static_cast<Rank>(rank)));
    }
    return all;
  }
  std::int64_t events() const {
    return events_before_ + static_cast<std::int64_t>(cluster_->events());
  }

  bool checkpoints() const { return job_.train.checkpoint_every > 0; }

  // The next multiple of the interval between checkpoints.
  std::int64_t end_of_term() const {
    if (!checkpoints()) {
      return Term{}.end;
    }
    const std::int64_t every = job_.train.checkpoint_every * job_.train.batch;
    return (term_.begin / every + 1) * every;
  }

  void start_all() {
    cluster_->start(kCoordinator, [&](Node& node) {
      service_ = serve(
          node, job_, training_samples_, [&] { return logic_.stopped().has_value(); },
          &service_journal_, machines_of(machine_names(job_)), term_, &service_kept_);
    });
    for (auto& worker : workers_) {
      worker->asked = 0;
      cluster_->start(worker->rank, [&, w = worker.get()](Node& node) { w->train_on(node); });
    }
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      cluster_->start(rank_of_server(i), [&, server = servers_[i].get()](Node& node) {
        server->figures = run_server(node, job_, &server->journal, &server->kept);
      });
    }
  }

  void run_cluster() {
    try {
      cluster_->run();
    } catch (const Interrupted& interrupted) {
      throw RunFailed(monitor_.abandon_requested() ? kAbandoned : interrupted.what());
    } catch (const Deadlock& deadlock) {
      throw RunFailed(deadlock_reason(job_, deadlock.what()));
    }
  }

  std::int64_t samples_used() const {
    std::int64_t used = term_.begin;
    for (const auto& worker : workers_) {
      used = std::max(used, worker->cluster_samples);
    }
    return used;
  }

  // The term is over for all. What the next one begins with is also what a checkpoint holds.
  void keep_state(std::int64_t used) {
    logic_.end_term();
    for (auto& worker : workers_) {
      worker->kept = state_of(*worker->training);
      tell_news(*worker, worker->training->so_far());  // for the record of a checkpoint
    }
    tell_service_news();
    seconds_ = cluster_->now();
    ++term_.number;
    term_.begin = used;
    monitor_.on_checkpoint(used, whole_state());
  }

  State whole_state() {
    State state;
    state.put("run", state_of(*this));
    state.put("service", service_kept_.state());
    State of_workers;
    for (auto& worker : workers_) {
      of_workers.put(std::to_string(worker->rank), worker->whole_state());
    }
    state.put("workers", std::move(of_workers));
    State of_servers;
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      of_servers.put(std::to_string(i), servers_[i]->kept.state());
    }
    state.put("servers", std::move(of_servers));
    return state;
  }

  // On the same cluster: the workers that have done their part agree on the final model.
  void end_run() {
    for (auto& worker : workers_) {
      cluster_->start(worker->rank, [w = worker.get()](Node&) { w->training->end_run(); });
    }
    run_cluster();
  }

  // Workers of a lock-step method ask once per step, and agree on the answer through the sum of
  // their gradients. Phantom blocks carry no data, so the simulator gives every worker the same
  // answer to its n-th call: a stop takes effect at the first n that no worker has reached yet.
  bool stop_requested(Worker& worker) {
    if (!job_.phantom()) {
      return logic_.stopped().has_value();
    }
    const std::int64_t question = ++worker.asked;
    if (logic_.stopped() && !stops_at_) {
      stops_at_ = std::max(question, most_asked_ + 1);
    }
    most_asked_ = std::max(most_asked_, question);
    return stops_at_ && question >= *stops_at_;
  }

  RingMeeting::Ground ground() {
    return {.edge_of = [this](Rank from, Rank to) { return edge(from, to); },
            .deliver = [this](Rank to, Seconds at,
                              Message message) { cluster_->deliver(to, at, std::move(message)); },
            .occupy = [this](Rank from, Rank to,
                             std::size_t bytes) { cluster_->occupy(from, to, bytes); },
            .count_bytes = [this](Rank from,
                                  std::size_t bytes) { cluster_->count_bytes(from, bytes); }};
  }

  RingEdge edge(Rank from, Rank to) const {
    const Network& network = cluster_->network();
    RingEdge edge{.links = {}, .latency = network.latency(from, to)};
    for (const auto link : network.path(from, to)) {
      edge.links.push_back({link, network.capacity(link)});
    }
    return edge;
  }

  void tell_news(Worker& worker, const WorkerResult& so_far) {
    news_.figures = figures_of(so_far, bytes_sent(worker.rank));
    worker.journal.take(news_.entries);
    monitor_.on_news(worker.rank, news_);
  }

  void tell_service_news() {
    service_journal_.take(service_news_.entries);
    monitor_.on_news(kCoordinator, service_news_);
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      servers_[i]->journal.take(server_news_.entries);
      monitor_.on_news(rank_of_server(i), server_news_);
    }
  }

  void on_step(Rank rank, Seconds seconds, const Progress& progress) {
    LossMeter loss;
    loss.add(progress.loss_sum, progress.loss_samples);
    const auto report = logic_.on_progress(seconds, progress.samples, loss);
    if (rank == 0) {
      tell_service_news();
    }
    if (report) {
      monitor_.on_progress(*report);
      if (const auto reason = monitor_.stop_requested()) {
        logic_.stop(*reason);
      }
    }
  }

  // Evaluation takes no virtual time.
  void evaluate(const SnapshotInfo& whole) {
    if (const auto evaluation = task_.evaluate(whole.snapshot)) {
      monitor_.on_metric(logic_.on_evaluation(whole.note, *evaluation));
    }
  }

  std::int64_t bytes_sent(Rank rank) const {
    return bytes_before_[static_cast<std::size_t>(rank)] +
           static_cast<std::int64_t>(cluster_->bytes_sent(rank));
  }

  std::vector<DoneInfo> results() {
    std::vector<DoneInfo> all;
    for (const auto& worker : workers_) {
      WorkerResult result = worker->training->result();
      tell_news(*worker, result);  // for what came after its last step
      all.push_back({.result = std::move(result),
                     .cluster_samples = worker->cluster_samples,
                     .bytes_sent = bytes_sent(worker->rank)});
    }
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      DoneInfo& done = all.emplace_back();
      done.bytes_sent = bytes_sent(rank_of_server(i));
      done.figures = std::move(servers_[i]->figures);
    }
    return all;
  }

  RunOutcome outcome() {
    RunEnd end = logic_.finish(results(), service_, snapshot_of(*workers_.front()->replica));
    tell_service_news();
    end.outcome.simulated_events = events();
    if (end.evaluate) {
      evaluate(*end.evaluate);
    }
    return std::move(end.outcome);
  }

  const Job& job_;
  Task& task_;
  RunMonitor& monitor_;
  const std::int64_t training_samples_;
  RunLogic logic_;
  Term term_;
  Seconds seconds_ = 0;                     // when the term began
  std::int64_t events_before_ = 0;          // in earlier terms
  std::vector<std::int64_t> bytes_before_;  // sent in earlier terms, by rank
  std::unique_ptr<SimCluster> cluster_;     // of this term
  std::unique_ptr<RingMeeting> meeting_;    // null if there are few workers
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::unique_ptr<Server>> servers_;
  ServiceResult service_;
  KeptState service_kept_;
  Journal service_journal_;
  WorkerNews news_;  // reused for every report, so that its memory is too
  WorkerNews service_news_;
  WorkerNews server_news_;
  std::int64_t most_asked_ = 0;
  std::optional<std::int64_t> stops_at_;
};

}  // namespace

RunOutcome simulate(const Job& job, Task& task, RunMonitor& monitor, const State* from) {
  Simulation simulation(job, task, monitor);
  if (from) {
    simulation.restore_all(*from);
  }
  return simulation.run();
}

}  // namespace motley
