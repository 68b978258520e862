#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "motley/sync/parameter_server/committer.h"
#include "motley/sync/parameter_server/server.h"
#include "motley/sync/sample_server.h"
#include "sync/ashl/ashl.h"
#include "sync/ashl/ashl_messages.h"
#include "sync/ashl/stage.h"
#include "sync/refit.h"

namespace motley {
namespace {

bool is_sound(const WorkerProfile& profile) {
  return std::ranges::all_of(std::initializer_list<Seconds>{profile.iteration, profile.push,
                                                            profile.pull, profile.compress},
                             [](Seconds time) { return std::isfinite(time) && time >= 0; });
}

PlanOptions plan_options_of(const StrategySpec& strategy) {
  const AshlOptions& options = strategy.of<AshlOptions>();
  return {.h_preset_ahl = options.h_preset_ahl,
          .h_preset_shl = options.h_preset_shl,
          .r_preset = options.r_preset,
          .compressed = strategy.codec == CodecKind::kTopk,
          .joint = options.joint};
}

RoundOrder order_of(const StagePlan& stage, std::size_t rank) {
  return {stage.rounds.iterations[rank], stage.ratios[rank], stage.round_time[rank]};
}

// Manages the plan and the stage while the SampleServer deals out samples.
class AshlService final : public SampleServerListener {
 public:
  explicit AshlService(const ServiceContext& context)
      : context_(context),
        options_(plan_options_of(context.job.strategy)),
        stage_(context.job.strategy.of<AshlOptions>().loss_preset, kFractionOfFirstLoss,
               kLossMemory * context.ledger.batch),
        profiles_(static_cast<std::size_t>(context.node.size())),
        left_(profiles_.size(), false) {}

  ServiceResult run() {
    server_ = std::make_unique<SampleServer>(context_, GapMeter(context_.node.size()),
                                             EvaluatedModel::kAnyWorker, this);
    KeptState::restore(context_.kept, *this);
    KeptState::save_after(context_.kept, *this, [&] {
      if (plan_) {
        give_orders();  // the last ones may not have reached everybody
      } else {
        plan_when_all_are_known();  // other workers need another plan
      }
      server_->run();
    });
    ServiceResult result{CommitCounts::of(server_->counts()).figures(), server_->gaps().largest()};
    const Figures own = figures();
    result.figures.insert(result.figures.end(), own.begin(), own.end());
    return result;
  }

  void state(Archive& archive) {
    archive("samples", *server_);
    archive("stage", stage_);
    archive("profiles", profiles_);
    archive("plan", plan_);
    archive("plans", plans_);
    archive("switched", switched_);
  }

 private:
  static constexpr double kFractionOfFirstLoss = 0.25;
  static constexpr std::int64_t kLossMemory = 8;  // batches

  void on_request(Rank, const SampleRequest& request, std::int64_t loss_samples) override {
    stage_.report(request.loss_sum, loss_samples);
    if (plan_ && stage_.fine() && !switched_) {
      give_orders();
    }
  }

  bool on_note(Rank rank, const Payload& note) override {
    const auto news = note.record<ProfileNote>();
    if (!news || !is_sound(news->profile)) {
      return false;
    }
    profiles_[static_cast<std::size_t>(rank)] = news->profile;
    plan_when_all_are_known();
    return true;
  }

  void on_leave(Rank rank) override {
    left_[static_cast<std::size_t>(rank)] = true;
    if (!plan_) {
      plan_when_all_are_known();  // workers that wait for the plan need not wait for this one
    }
  }

  // A worker that left before it was measured needs no orders; any other profile stands in for its.
  void plan_when_all_are_known() {
    std::optional<WorkerProfile> any;
    for (std::size_t rank = 0; rank < profiles_.size(); ++rank) {
      if (!profiles_[rank] && !left_[rank]) {
        return;
      }
      any = profiles_[rank] ? profiles_[rank] : any;
    }
    if (!any) {
      return;
    }
    std::vector<WorkerProfile> known;
    for (const auto& profile : profiles_) {
      known.push_back(profile.value_or(*any));
    }
    if (!plan_) {
      stage_.begin();
    }
    plan_ = plan_stages(known, options_);
    ++plans_;
    context_.journal.add({context_.node.now(), "plan",
                          fmt::format("iterations between commits: AHL {}, SHL {}",
                                      fmt::join(plan_->ahl.rounds.iterations, " "),
                                      fmt::join(plan_->shl.rounds.iterations, " ")),
                          plan_->reason});
    give_orders();
  }

  // eta_i is that of the coarse stage in both stages, because a worker's share of the data is the
  // same in both.
  void give_orders() {
    if (stage_.fine() && !switched_) {
      switched_ = context_.node.now();
      context_.journal.add({*switched_, "stage", "AHL -> SHL", stage_.reason()});
    }
    const std::vector<double> weights = commit_weights(plan_->ahl.rounds.shares);
    for (std::size_t rank = 0; rank < profiles_.size(); ++rank) {
      const Order order{order_of(plan_->ahl, rank), order_of(plan_->shl, rank), weights[rank],
                        stage_.fine()};
      context_.node.send(static_cast<Rank>(rank), kAshlOrders, {}, Payload::of_record(order));
    }
  }

  Figures figures() const {
    Figures figures;
    const auto profile = [&](const char* name, Seconds WorkerProfile::*time) {
      std::vector<double> times;
      for (const auto& known : profiles_) {
        times.push_back(known ? (*known).*time : 0);
      }
      figures.push_back({name, std::move(times)});
    };
    profile("profile_iteration", &WorkerProfile::iteration);
    profile("profile_push", &WorkerProfile::push);
    profile("profile_pull", &WorkerProfile::pull);
    profile("profile_compress", &WorkerProfile::compress);
    if (plan_) {
      figures.push_back({"shares", plan_->ahl.rounds.shares});
      figures.push_back({"weights", commit_weights(plan_->ahl.rounds.shares)});
      figures.push_back({"ahl_iterations", plan_->ahl.rounds.iterations});
      figures.push_back({"ahl_ratios", plan_->ahl.ratios});
      figures.push_back({"shl_iterations", plan_->shl.rounds.iterations});
      figures.push_back({"shl_ratios", plan_->shl.ratios});
      figures.push_back({"plan", plan_->reason});
    }
    figures.push_back({"plans", plans_});
    figures.push_back({"switch_seconds", figure_of(switched_)});
    figures.push_back({"switch_reason", stage_.reason()});
    return figures;
  }

  const ServiceContext context_;
  const PlanOptions options_;
  std::unique_ptr<SampleServer> server_;
  StageSwitch stage_;
  std::vector<std::optional<WorkerProfile>> profiles_;  // by worker, as last measured
  std::vector<bool> left_;
  std::optional<Plan> plan_;
  std::int64_t plans_ = 0;
  std::optional<Seconds> switched_;  // when the fine stage began
};

}  // namespace

// The plan is of all workers, so other workers get another one when all have been measured. Those
// who stay have been.
MethodState fit_ashl(const MethodState& before, const Refit& refit) {
  MethodState now = fit_committers(before, refit);
  if (!refit.members.changed() || before.service.empty()) {
    return now;
  }
  const auto profiles =
      saved_value<std::vector<std::optional<WorkerProfile>>>(before.service, "profiles");
  save_value(now.service, "profiles", refit.members.arranged(profiles, {}));
  save_value(now.service, "plan", std::optional<Plan>{});
  for (State& worker : now.workers) {
    if (!worker.empty()) {
      save_value(worker, "order", std::optional<Order>{});
    }
  }
  return now;
}

ServiceResult serve_ashl(const ServiceContext& context) { return AshlService(context).run(); }

}  // namespace motley
