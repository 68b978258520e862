#include "sync/adsp/adsp.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "motley/sync/adsp.h"
#include "motley/sync/parameter_server/committer.h"
#include "motley/sync/parameter_server/server.h"
#include "motley/sync/parameter_server/staleness_bound.h"
#include "motley/sync/sample_server.h"
#include "sync/adsp/commit_rate.h"
#include "sync/parameter_server/global_loss.h"
#include "sync/refit.h"

namespace motley {
namespace {

constexpr Channel kPeriods = method_channel(0);  // from the coordinator

// A check period, sent by the coordinator.
struct Period {
  Seconds gamma = 0;
  std::int64_t target = 0;  // C_target: total commits of every worker at its end
};

class AdspWorker final : public Committer {
 public:
  using Committer::Committer;

  void state(Archive& archive) override {
    Committer::state(archive);
    archive("timer", timer_);
  }

 private:
  // Until the first period begins, the worker trains without commits.
  bool commits_after_this() override {
    while (const auto message = node().receive_until({kPeriods, kCoordinator}, node().now())) {
      const auto period = message->payload.record<Period>();
      if (!period) {
        throw Interrupted(kCoordinator, "the coordinator's period is damaged");
      }
      timer_.begin_period(node().now(), period->gamma, commits_for(period->target, commits()));
    }
    return timer_.due(node().now() + iteration_seconds());
  }

  CommitHeader next_commit() override { return {.step = std::nullopt, .weight = equal_weight()}; }

  void committed(const ServerClient::Reply& reply) override {
    timer_.committed(node().now(), reply.seconds);
  }

  CommitTimer timer_;
};

// Runs the search while the SampleServer deals out samples. It checks the clock at every request;
// every worker sends one per iteration.
class AdspService final : public SampleServerListener {
 public:
  explicit AdspService(const ServiceContext& context)
      : context_(context),
        options_(context.job.strategy.of<AdspOptions>()),
        loss_(kLossMemory * context.ledger.batch),
        search_({options_.commits, options_.loss_target}),
        workers_(static_cast<std::size_t>(context.node.size())),
        used_(context.ledger.begin) {}

  ServiceResult run() {
    server_ = std::make_unique<SampleServer>(context_, GapMeter(context_.node.size()),
                                             EvaluatedModel::kAnyWorker, this);
    KeptState::restore(context_.kept, *this);
    KeptState::save_after(context_.kept, *this, [&] {
      if (gamma_) {
        go_on_with_period();
      }
      server_->run();
    });
    ServiceResult result{CommitCounts::of(server_->counts()).figures(), server_->gaps().largest()};
    const Figures search = {{"period", figure_of(gamma_)},
                            {"commits_per_period", commits_tried_},
                            {"largest_difference", largest_difference_},
                            {"reason", search_.reason()}};
    result.figures.insert(result.figures.end(), search.begin(), search.end());
    return result;
  }

  // Newcomers count as having made as many commits as the worker with the fewest, so that they need
  // not catch up with a whole run within one period.
  static MethodState fit(const MethodState& before, const Refit& refit) {
    MethodState now = fit_committers(before, refit);
    if (!before.service.empty()) {
      const auto workers = saved_value<std::vector<Worker>>(before.service, "workers");
      std::optional<std::int64_t> fewest;
      for (const std::optional<Rank>& rank : refit.members.previous) {
        if (rank) {
          const std::int64_t total = workers.at(static_cast<std::size_t>(*rank)).total();
          fewest = std::min(fewest.value_or(total), total);
        }
      }
      Worker newcomer;
      newcomer.spared = fewest.value_or(saved_value<std::int64_t>(before.service, "target_total"));
      save_value(now.service, "workers", refit.members.arranged(workers, newcomer));
    }
    return now;
  }

  void state(Archive& archive) {
    archive("samples", *server_);
    archive("loss", loss_);
    archive("search", search_);
    archive("workers", workers_);
    archive("gamma", gamma_);
    archive("start", start_);
    archive("middle", middle_);
    archive("target_total", target_total_);
    archive("epoch", epoch_);
    archive("commits_tried", commits_tried_);
    archive("largest_difference", largest_difference_);
  }

 private:
  static constexpr std::int64_t kLossMemory = 4;  // batches
  // Iterations of the slowest worker in the default period. In the authors' setting it is 60 s,
  // with steps of up to 1.5 s.
  static constexpr std::int64_t kPeriodIterations = 40;

  struct Worker {
    std::optional<Seconds> heard;      // when its last iteration began, by the worker's clock
    std::optional<Seconds> iteration;  // from the start of the last one to the start of the next
    Seconds commit = 0;                // how long its last commit took
    std::int64_t commits = 0;
    std::int64_t spared = 0;  // commits of others before it came
    bool left = false;

    std::int64_t total() const { return commits + spared; }

    void state(Archive& archive) {
      archive("iteration", iteration);
      archive("commit", commit);
      archive("commits", commits);
      archive("spared", spared);
    }
  };

  void on_request(Rank rank, const SampleRequest& request, std::int64_t loss_samples) override {
    Worker& worker = workers_[static_cast<std::size_t>(rank)];
    if (worker.heard && request.commits == worker.commits) {
      worker.iteration = request.at - *worker.heard;
    }
    worker.heard = request.at;
    worker.commit = request.commit_seconds;
    worker.commits = request.commits;
    loss_.report(request.loss_sum, loss_samples);
    used_ += loss_samples;
    look_at_clock(context_.node.now());
  }

  bool on_note(Rank, const Payload&) override { return false; }
  void on_leave(Rank rank) override { workers_[static_cast<std::size_t>(rank)].left = true; }

  void look_at_clock(Seconds now) {
    if (!gamma_) {
      begin_when_all_are_known(now);
      return;
    }
    if (!middle_ && now >= start_.t + *gamma_ / 2) {
      middle_ = LossSample{now, loss_.mean()};
    }
    if (now >= start_.t + *gamma_) {
      end_period(now);
      begin_period(now);
    }
  }

  void begin_when_all_are_known(Seconds now) {
    Seconds slowest = 0;
    for (const Worker& worker : workers_) {
      if (!worker.iteration && !worker.left) {
        return;
      }
      slowest = std::max(slowest, worker.iteration.value_or(0));
    }
    gamma_ = options_.period.value_or(kPeriodIterations * std::max(slowest, 1e-6));
    begin_period(now);
  }

  // At the beginning of a term: the rest of the period, with the commits that are left.
  void go_on_with_period() {
    const Seconds left = std::max(start_.t + *gamma_ - context_.node.now(), 1e-6);
    send_period({left, target_total_});
  }

  void send_period(const Period& period) {
    for (Rank rank = 0; rank < context_.node.size(); ++rank) {
      Period its = period;
      its.target -= workers_[static_cast<std::size_t>(rank)].spared;
      context_.node.send(rank, kPeriods, {}, Payload::of_record(its));
    }
  }

  void begin_period(Seconds now) {
    search_.set_most(most_commits());
    const std::int64_t commits = options_.search ? search_.commits() : options_.commits;
    if (commits_tried_.empty() || commits_tried_.back() != commits) {
      context_.journal.add({now, "commits",
                            fmt::format("{} in a period of {:.3g} s", commits, *gamma_),
                            options_.search ? search_.reason() : "as the job says"});
    }
    commits_tried_.push_back(commits);
    target_total_ += commits;
    send_period({*gamma_, target_total_});
    start_ = {now, loss_.mean()};
    middle_.reset();
  }

  void end_period(Seconds now) {
    const auto [fewest, most] = std::ranges::minmax(workers_, {}, &Worker::total);
    largest_difference_ = std::max(largest_difference_, most.total() - fewest.total());
    search_.period_over({start_, middle_.value_or(start_), LossSample{now, loss_.mean()}});
    const std::int64_t epoch = used_ / context_.ledger.dataset;
    if (epoch > epoch_ && !search_.searching()) {
      epoch_ = epoch;
      search_.restart("an epoch has begun");
    }
  }

  // The most commits that every worker can make in a period, each after at least one iteration.
  std::int64_t most_commits() const {
    double most = 1e9;
    for (const Worker& worker : workers_) {
      if (!worker.left && worker.iteration) {
        most = std::min(most, *gamma_ / std::max(*worker.iteration + worker.commit, 1e-9));
      }
    }
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(most));
  }

  const ServiceContext context_;
  const AdspOptions options_;
  std::unique_ptr<SampleServer> server_;
  GlobalLoss loss_;
  CommitSearch search_;
  std::vector<Worker> workers_;
  std::optional<Seconds> gamma_;
  LossSample start_;                  // of the period
  std::optional<LossSample> middle_;  // of the period, once it is reached
  std::int64_t target_total_ = 0;     // C_target
  std::int64_t used_;                 // samples used by all workers
  std::int64_t epoch_ = 0;
  std::vector<std::int64_t> commits_tried_;  // by period
  std::int64_t largest_difference_ = 0;  // of commits between two workers, at the end of a period
};

std::unique_ptr<Strategy> make_adsp(const StrategyContext& context) {
  return std::make_unique<AdspWorker>(context);
}

ServiceResult serve_adsp(const ServiceContext& context) { return AdspService(context).run(); }

Figures run_server_of_adsp(const ServerContext& context) {
  return run_parameter_server(context, {.gate = staleness_bound(context.job, std::nullopt)});
}

std::vector<Key<Job>> adsp_keys() {
  return {
      {"strategy.adsp.period", option<&AdspOptions::period>, Range{0, 1e6, true},
       "check period in seconds; 40 iterations of the slowest worker if not given"},
      {"strategy.adsp.commits", option<&AdspOptions::commits>, Range{1, 1e6},
       "commits of every worker in the first period"},
      {"strategy.adsp.search", option<&AdspOptions::search>, YesOrNo{},
       "search for the number of commits that lowers the loss fastest"},
      {"strategy.adsp.loss_target", option<&AdspOptions::loss_target>,
       Range{.min = 0, .above_min = true},
       "loss that the search tries to reach soonest; 0.9 of the current loss if not given"},
  };
}

}  // namespace

const Method kAdsp = {
    .schema = {.name = "adsp",
               .summary =
                   "workers commit on a timer, all equally often whatever their speed (Hu et "
                   "al.)",
               .keys = adsp_keys(),
               .exchanges = ExchangeKind::kChanges,
               .has_servers = true,
               .own_shares = true},
    .advance = Advance::kAtOwnPace,
    .make = make_adsp,
    .serve = serve_adsp,
    .run_server = run_server_of_adsp,
    .fit = AdspService::fit,
};

}  // namespace motley
