#include "sync/all_reduce/all_reduce.h"

#include <utility>

#include "motley/sync/common_steps.h"

namespace motley {
namespace {

constexpr Channel kGradients = method_channel(0);

class AllReduce final : public Strategy {
 public:
  AllReduce(const StrategyContext& context, std::unique_ptr<Reducer> reducer)
      : context_(context), steps_(context), reducer_(std::move(reducer)) {}

  std::optional<Work> begin() override {
    const auto work = steps_.begin();
    if (!work) {
      reducer_->leave();
    }
    return work;
  }

  Progress finish(const Computed& computed) override {
    steps_.tell(computed);
    if (!reducer_->is_idle()) {
      reducer_->sum(context_.replica.gradient());
    }
    const double weight = steps_.weight();
    context_.node.busy(0, [&] {
      if (weight > 0) {
        context_.replica.apply(1.0 / weight);
      }
      reducer_->conclude();
    });
    return steps_.conclude();
  }

  bool sums_weights() const override { return true; }

  Seconds waited() const override { return reducer_->waited(); }
  std::optional<Settled> settle() override { return Settled{.used = steps_.used()}; }
  void state(Archive& archive) override { reducer_->state(archive); }

 private:
  StrategyContext context_;
  CommonSteps steps_;
  const std::unique_ptr<Reducer> reducer_;
};

std::unique_ptr<Strategy> make_all_reduce(const StrategyContext& context) {
  return make_all_reduce_over(context, make_reducer(context, kGradients));
}

MethodState fit_all_reduce(const MethodState& before, const Refit& refit) {
  return {.service = {}, .workers = fitted_reducers(before.workers, refit), .servers = {}};
}

}  // namespace

std::unique_ptr<Strategy> make_all_reduce_over(const StrategyContext& context,
                                               std::unique_ptr<Reducer> reducer) {
  return std::make_unique<AllReduce>(context, std::move(reducer));
}

const Method kAllReduce = {
    .schema = {.name = "all_reduce",
               .summary =
                   "every step sums gradients over all workers; the slowest one sets the pace"},
    .advance = Advance::kTogether,
    .make = make_all_reduce,
    .fit = fit_all_reduce,
};

}  // namespace motley
