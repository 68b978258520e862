#include "runtime/simulate/simulate.h"

#include <algorithm>
#include <iterator>
#include <memory>

#include "runtime/run/evaluator.h"
#include "runtime/run/server_figures.h"
#include "runtime/run/snapshot_merger.h"
#include "sim/cluster.h"
#include "sync/loop.h"
#include "sync/ring_meeting.h"

namespace motley {
namespace {

class Simulation {
 public:
  Simulation(const Job& job, Task& task, RunMonitor& monitor)
      : job_(job),
        task_(task),
        monitor_(monitor),
        evaluator_(task, job),
        ledger_options_(ledger_options(job, task.training_samples())),
        cluster_(job.cluster, job.servers()) {
    if (job.cluster.workers > RingMeeting::kMostByMessage) {
      meeting_ = std::make_unique<RingMeeting>(job.cluster.workers, ground());
    }
    for (Rank rank = 0; rank < job.cluster.workers; ++rank) {
      workers_.push_back(std::make_unique<Worker>(*this, rank));
    }
    for (int server = 0; server < job.servers(); ++server) {
      servers_.push_back(std::make_unique<Server>());
    }
  }

  RunOutcome run() {
    cluster_.start(kCoordinator, [&](Node& node) {
      service_ = serve(
          node, job_, ledger_options_.dataset, [&] { return stopped_.has_value(); },
          &service_journal_);
    });
    for (auto& worker : workers_) {
      cluster_.start(worker->rank, [&, w = worker.get()](Node& node) { w->train_on(node); });
    }
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      cluster_.start(rank_of_server(i), [&, server = servers_[i].get()](Node& node) {
        server->figures = run_server(node, job_, &server->journal);
      });
    }
    monitor_.on_begin(
        [&](Rank rank) { return workers_[static_cast<std::size_t>(rank)]->journal.activity(); });
    cluster_.poll([&] { return monitor_.abandon_requested(); });
    try {
      cluster_.run();
    } catch (const Interrupted& interrupted) {
      throw RunFailed(interrupted.what());
    } catch (const Deadlock& deadlock) {
      throw RunFailed(deadlock.what());
    }
    return outcome();
  }

 private:
  // One simulated worker, with a replica of its own, as a real one has.
  struct Worker final : public Observer {
    Worker(Simulation& simulation, Rank its_rank)
        : sim(simulation), rank(its_rank), replica(simulation.task_.make_replica()) {}

    void train_on(Node& node) {
      result =
          train(node, {sim.job_, sim.ledger_options_.dataset, *replica, *this,
                       [this] { return sim.stop_requested(*this); }, sim.meeting_.get(), &journal});
    }

    void on_step(Seconds seconds, const Progress& progress, const WorkerResult& so_far) override {
      last = progress;
      sim.loss_.add(progress.loss_sum, progress.loss_samples);
      sim.tell_news(*this, so_far);
      sim.on_step(rank, seconds, progress);
    }

    void on_snapshot(Seconds seconds, const Progress& progress, Replica& its_replica) override {
      const SnapshotNote note{seconds, progress.samples, false, *progress.evaluate, {}};
      if (const auto whole = sim.merger_.add({note, snapshot_of(its_replica)})) {
        sim.evaluate(*whole);
      }
    }

    Simulation& sim;
    const Rank rank;
    std::unique_ptr<Replica> replica;
    Journal journal;
    WorkerResult result;
    Progress last;
    std::int64_t asked = 0;  // whether to stop, so many times
  };

  struct Server {
    Journal journal;
    Figures figures;  // when it is over
  };
  Rank rank_of_server(std::size_t server) const {
    return job_.cluster.workers + static_cast<Rank>(server);
  }

  // Workers that go from step to step together ask once in each. Of a phantom no sum tells one what
  // another was told, so all get the same answer to the same question: the wish to stop counts from
  // the first that nobody has asked yet.
  bool stop_requested(Worker& worker) {
    if (!job_.phantom()) {
      return stopped_.has_value();
    }
    const std::int64_t question = ++worker.asked;
    if (stopped_ && !stops_at_) {
      stops_at_ = std::max(question, most_asked_ + 1);
    }
    most_asked_ = std::max(most_asked_, question);
    return stops_at_ && question >= *stops_at_;
  }

  RingMeeting::Ground ground() {
    return {.latency = job_.cluster.latency,
            .link_of = [this](Rank rank) -> Link& { return cluster_.link(rank); },
            .deliver = [this](Rank to, Seconds at,
                              Message message) { cluster_.deliver(to, at, std::move(message)); }};
  }

  void tell_news(Worker& worker, const WorkerResult& so_far) {
    const auto bytes = static_cast<std::int64_t>(cluster_.bytes_sent(worker.rank));
    news_.figures = figures_of(so_far, bytes);
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
    if (rank != 0) {
      return;
    }
    RunProgress report{seconds, progress.samples, ledger_options_.limit, std::nullopt};
    if (progress.loss_samples > 0) {
      report.loss = progress.loss_sum / static_cast<double>(progress.loss_samples);
    }
    tell_service_news();
    monitor_.on_progress(report);
    if (!stopped_) {
      stopped_ = monitor_.stop_requested();
    }
  }

  void evaluate(SnapshotInfo info) {
    info.note.loss = loss_.take();
    if (auto metric = evaluator_.evaluate(info.note, info.snapshot)) {
      monitor_.on_metric(*metric);
    }
    if (evaluator_.target_reached() && !stopped_) {
      stopped_ = "target";
    }
  }

  RunOutcome outcome() {
    RunOutcome outcome;
    outcome.stopped = stopped_;
    outcome.simulated_events = static_cast<std::int64_t>(cluster_.events());
    for (const auto& worker : workers_) {
      tell_news(*worker, worker->result);  // of what came behind its last step
      const auto bytes = static_cast<std::int64_t>(cluster_.bytes_sent(worker->rank));
      outcome.workers.push_back(summary_of(worker->rank, worker->result, bytes));
      outcome.seconds = std::max(outcome.seconds, worker->result.times.seconds);
      outcome.samples = std::max(outcome.samples, worker->last.samples);
    }
    std::vector<Figures> of_servers;
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      const Rank rank = rank_of_server(i);
      outcome.servers.push_back({rank, static_cast<std::int64_t>(cluster_.bytes_sent(rank))});
      of_servers.push_back(servers_[i]->figures);
    }
    wait_for_the_last(outcome);
    tell_service_news();
    Worker& first = *workers_.front();
    outcome.allocation = summary_of(first.result.allocation);
    outcome.service = service_;
    std::ranges::move(figures_of_servers(of_servers), std::back_inserter(outcome.service.figures));
    outcome.model = snapshot_of(*first.replica);
    evaluate({{outcome.seconds, outcome.samples, true, {}, {}}, outcome.model});
    return outcome;
  }

  const Job& job_;
  Task& task_;
  RunMonitor& monitor_;
  Evaluator evaluator_;
  SnapshotMerger merger_;
  const LedgerOptions ledger_options_;
  SimCluster cluster_;
  std::unique_ptr<RingMeeting> meeting_;  // none: the workers are few
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::unique_ptr<Server>> servers_;
  LossMeter loss_;  // since the last evaluation
  ServiceResult service_;
  Journal service_journal_;
  WorkerNews news_;  // of whoever tells; its room is used again
  WorkerNews service_news_;
  WorkerNews server_news_;
  std::optional<std::string> stopped_;
  std::int64_t most_asked_ = 0;
  std::optional<std::int64_t> stops_at_;
};

}  // namespace

RunOutcome simulate(const Job& job, Task& task, RunMonitor& monitor) {
  return Simulation(job, task, monitor).run();
}

}  // namespace motley
