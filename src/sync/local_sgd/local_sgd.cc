#include "motley/sync/local_sgd.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "codec/traffic.h"
#include "motley/sync/collective.h"
#include "motley/sync/common_steps.h"
#include "sync/local_sgd/local_sgd.h"
#include "sync/reducer.h"

namespace motley {
namespace {

constexpr Channel kAverages = method_channel(0);

class LocalSgd final : public Strategy {
 public:
  explicit LocalSgd(const StrategyContext& context)
      : context_(context),
        options_(context.job.strategy.of<LocalSgdOptions>()),
        steps_(context),
        reducer_(make_reducer(context, kAverages)),
        buffers_(context.node, kAverages) {
    const auto model = context_.replica.parameters().floats();
    base_.assign(model.begin(), model.end());
    velocity_.assign(options_.outer_momentum > 0 ? model.size() : 0, 0.0F);
    averaged_ = steps_.used();
  }

  std::optional<Work> begin() override { return stopped_ ? std::nullopt : steps_.begin(); }

  Progress finish(const Computed& computed) override {
    if (computed.samples > 0) {
      const double mean = 1.0 / static_cast<double>(computed.samples);
      context_.node.busy(0, [&] { context_.replica.apply(mean); });
    }
    own_.loss_sum += computed.loss_sum;
    own_.samples += computed.samples;
    steps_.finish();
    ++steps_since_;

    Progress progress;
    progress.samples = steps_.used();
    if (steps_since_ == options_.steps || steps_.over()) {
      average(progress);
    } else if (!phantom()) {
      progress.loss_sum = computed.loss_sum;
      progress.loss_samples = static_cast<std::int64_t>(computed.samples);
      told_.loss_sum += computed.loss_sum;
      told_.samples += computed.samples;
    }
    return progress;
  }

  Seconds waited() const override { return reducer_->waited() + buffers_.waited(); }

  // Back to the last average: the steps since then are done again, with the share of whoever was
  // lost. What the optimizer remembers of them stays.
  std::optional<Settled> settle() override {
    undo_.take_back();
    std::ranges::copy(base_, context_.replica.parameters().floats().begin());
    return Settled{.used = averaged_};
  }

  // A term ends with an average, so that the last one is the model.
  void state(Archive& archive) override {
    reducer_->state(archive);
    const std::size_t size = velocity_.size();
    archive.tensor("velocity", velocity_);
    if (size != velocity_.size() && size > 0 && !velocity_.empty()) {
      throw StateError(
          fmt::format("velocity has {} numbers instead of {}", velocity_.size(), size));
    }
    velocity_.resize(size);  // the momentum may have been switched on or off meanwhile
  }

 private:
  bool phantom() { return context_.replica.gradient().phantom(); }
  std::size_t base_size() { return context_.replica.parameters().size; }

  // The gradient has been applied by then, so its memory is free.
  void average(Progress& progress) {
    const std::int64_t all = steps_.used() - averaged_;
    const Block change = context_.replica.gradient();
    const auto tail = context_.replica.tail().floats();
    const bool stop = context_.stop_requested();
    context_.node.process(add_traffic(base_size()), [&] { take_change(static_cast<double>(all)); });
    if (!change.phantom()) {
      std::ranges::fill(tail.first(Replica::kMethodTail), 0.0F);
      tail[CommonSteps::kLoss] = static_cast<float>(own_.loss_sum);
      tail[CommonSteps::kStopVotes] = stop ? 1.0F : 0.0F;
    }
    reducer_->sum(change);
    average_buffers(static_cast<float>(all));
    stopped_ = change.phantom() ? stop : tail[CommonSteps::kStopVotes] > 0;
    context_.node.process(outer_step_traffic(), [&] {
      outer_step();
      undo_.forget();
      reducer_->conclude();
      averaged_ = steps_.used();
    });
    progress.is_summed = !change.phantom();
    if (!change.phantom()) {
      progress.mean_loss = static_cast<double>(tail[CommonSteps::kLoss]) / static_cast<double>(all);
      // All losses since the last average, except those that this worker has already reported.
      progress.loss_sum = static_cast<double>(tail[CommonSteps::kLoss]) - told_.loss_sum;
      progress.loss_samples = all - static_cast<std::int64_t>(told_.samples);
    }
    if (steps_.evaluation_due(steps_.used() - all)) {
      progress.evaluate = Evaluate{};
    }
    steps_since_ = 0;
    own_ = {};
    told_ = {};
  }

  // This worker's weighted change, stored in place of its gradient.
  void take_change(double all) {
    const auto weight = static_cast<float>(static_cast<double>(own_.samples) / all);
    const auto model = context_.replica.parameters().floats();
    const auto change = context_.replica.gradient().floats();
    for (std::size_t i = 0; i < model.size(); ++i) {
      change[i] = weight * (model[i] - base_[i]);
    }
  }

  // Moves from the last average by the mean change of all workers.
  void outer_step() {
    const auto lr = static_cast<float>(options_.outer_lr);
    const auto momentum = static_cast<float>(options_.outer_momentum);
    const auto model = context_.replica.parameters().floats();
    const auto change = context_.replica.gradient().floats();
    for (std::size_t i = 0; i < velocity_.size(); ++i) {
      velocity_[i] = momentum * velocity_[i] + change[i];
      change[i] += momentum * velocity_[i];
    }
    for (std::size_t i = 0; i < model.size(); ++i) {
      base_[i] += lr * change[i];
      model[i] = base_[i];
    }
  }

  // Base and change are read, base and model written; with momentum, velocity and change are read
  // and written before.
  std::size_t outer_step_traffic() {
    const bool has_momentum = options_.outer_momentum > 0;
    return (has_momentum ? 4 : 2) * copy_traffic(base_size());
  }

  // Buffers are not changes, so they are sent unencoded. The sum is divided, not each part of it: a
  // third is not a float (sync/weighted_mean.h).
  void average_buffers(float all) {
    const Block buffers = context_.replica.buffers();
    undo_.begin();
    buffers_.sum(buffers, static_cast<float>(own_.samples), &undo_);
    for (float& value : buffers.floats()) {
      value /= all;
    }
  }

  StrategyContext context_;
  const LocalSgdOptions& options_;
  CommonSteps steps_;
  const std::unique_ptr<Reducer> reducer_;
  Collective buffers_;
  Undo undo_;                    // of an average of the buffers
  std::vector<float> base_;      // the last average
  std::vector<float> velocity_;  // of the outer step; empty without momentum

  // Since the last average:
  std::int64_t steps_since_ = 0;
  Computed own_;               // by this worker
  Computed told_;              // the part that this worker has already reported
  std::int64_t averaged_ = 0;  // samples used at the last average
  bool stopped_ = false;
};

std::unique_ptr<Strategy> make_local_sgd(const StrategyContext& context) {
  return std::make_unique<LocalSgd>(context);
}

// The velocity of the outer step is the same on all workers; newcomers take it over.
MethodState fit_local_sgd(const MethodState& before, const Refit& refit) {
  MethodState now{.service = {}, .workers = fitted_reducers(before.workers, refit), .servers = {}};
  const auto known = std::ranges::find_if(
      before.workers, [](const State& worker) { return worker.tensors.contains("velocity"); });
  if (known == before.workers.end()) {
    return {.service = {}, .workers = std::vector<State>(now.workers.size()), .servers = {}};
  }
  for (State& worker : now.workers) {
    worker.tensors["velocity"] = known->tensors.at("velocity");
  }
  return now;
}

std::vector<Key<Job>> local_sgd_keys() {
  return {
      {"strategy.local_sgd.steps", option<&LocalSgdOptions::steps>, Range{1, 1e6},
       "steps between two averages"},
      {"strategy.local_sgd.outer_lr", option<&LocalSgdOptions::outer_lr>,
       Range{.min = 0, .above_min = true}, "factor on the averaged change"},
      {"strategy.local_sgd.outer_momentum", option<&LocalSgdOptions::outer_momentum>, Range{0, 1},
       "Nesterov momentum on the averaged change (DiLoCo)"},
  };
}

}  // namespace

const Method kLocalSgd = {
    .schema = {.name = "local_sgd",
               .summary =
                   "each worker takes some steps on its own model, then all models are averaged",
               .keys = local_sgd_keys(),
               .exchanges = ExchangeKind::kChanges},
    .advance = Advance::kTogether,
    .make = make_local_sgd,
    .fit = fit_local_sgd,
};

}  // namespace motley
