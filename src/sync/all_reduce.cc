#include "sync/all_reduce.h"

#include <algorithm>
#include <utility>

#include "sync/common_steps.h"

namespace motley {
namespace {

class AllReduce final : public Strategy {
 public:
  AllReduce(const StrategyContext& context, std::unique_ptr<Reducer> reducer)
      : context_(context), steps_(context), reducer_(std::move(reducer)) {}

  std::optional<Work> begin() override {
    const auto work = stopped_ ? std::nullopt : steps_.begin();
    if (!work) {
      reducer_->leave();
    }
    return work;
  }

  Progress finish(const Computed& computed) override {
    Block sum = context_.replica.gradient();
    const auto tail = sum.part(sum.size - Replica::kTail, Replica::kTail).floats();
    const bool stop = context_.stop_requested();
    if (!sum.phantom()) {
      std::ranges::fill(tail, 0.0F);
      tail[CommonSteps::kLoss] = static_cast<float>(computed.loss_sum);
      tail[CommonSteps::kStopVotes] = stop ? 1.0F : 0.0F;
    }
    reducer_->sum(sum);
    const std::int64_t count = steps_.count();
    context_.node.busy(0, [&] { context_.replica.apply(1.0 / static_cast<double>(count)); });

    Progress progress;
    steps_.finish();
    progress.samples = steps_.used();
    if (steps_.evaluation_due(steps_.used() - count)) {
      progress.evaluate = Evaluate{};
    }
    stopped_ = sum.phantom() ? stop : tail[CommonSteps::kStopVotes] > 0;
    if (!sum.phantom()) {
      progress.loss_sum = tail[CommonSteps::kLoss];
      progress.loss_samples = count;
    }
    return progress;
  }

  Seconds waited() const override { return reducer_->waited(); }

 private:
  StrategyContext context_;
  CommonSteps steps_;
  const std::unique_ptr<Reducer> reducer_;
  bool stopped_ = false;
};

}  // namespace

std::unique_ptr<Strategy> make_all_reduce(const StrategyContext& context) {
  return make_all_reduce_over(context, make_reducer(context, Channel::kAllReduce));
}

std::unique_ptr<Strategy> make_all_reduce_over(const StrategyContext& context,
                                               std::unique_ptr<Reducer> reducer) {
  return std::make_unique<AllReduce>(context, std::move(reducer));
}

}  // namespace motley
