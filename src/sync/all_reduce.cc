#include "sync/all_reduce.h"

#include "sync/collective.h"

namespace motley {
namespace {

// What travels behind the gradient (Replica::kTail).
enum Tail : std::size_t { kLoss = 0, kStopVotes = 1 };

class AllReduce final : public Strategy {
 public:
  explicit AllReduce(const StrategyContext& context)
      : context_(context),
        collective_(context.node, Channel::kAllReduce, all_ranks(context.node.size())) {}

  std::optional<Work> begin() override {
    step_ = context_.ledger.step_after(used_);
    if (stopped_ || step_.count == 0) {
      return std::nullopt;
    }
    const int rank = context_.node.rank();
    const Shares& shares = context_.allocator.shares(static_cast<std::size_t>(step_.count));
    Work work;
    work.count = shares[static_cast<std::size_t>(rank)];
    if (!phantom()) {
      work.samples = context_.ledger.samples(share_of(step_, shares, rank));
    }
    return work;
  }

  Progress finish(const Computed& computed) override {
    Block sum = context_.replica.gradient();
    const auto tail = sum.part(sum.size - Replica::kTail, Replica::kTail).floats();
    if (!phantom()) {
      std::fill(tail.begin(), tail.end(), 0.0F);
      tail[kLoss] = static_cast<float>(computed.loss_sum);
      tail[kStopVotes] = context_.stop_requested() ? 1.0F : 0.0F;
    }
    collective_.sum(sum);
    context_.node.busy(0, [&] { context_.replica.apply(1.0 / static_cast<double>(step_.count)); });

    Progress progress;
    if (evaluation_due()) {
      progress.evaluate = Evaluate{};
    }
    used_ += step_.count;
    progress.samples = used_;
    if (!phantom()) {
      stopped_ = tail[kStopVotes] > 0;
      progress.loss_sum = tail[kLoss];
      progress.loss_samples = step_.count;
    }
    return progress;
  }

  Seconds waited() const override { return collective_.waited(); }

 private:
  bool phantom() { return context_.replica.gradient().phantom(); }

  // All workers hold the same model: rank 0 has it judged, every `eval_every` steps of samples.
  bool evaluation_due() const {
    const std::int64_t every = context_.job.train.eval_every * context_.job.train.batch;
    return context_.node.rank() == 0 && every > 0 && (used_ + step_.count) / every > used_ / every;
  }

  StrategyContext context_;
  Collective collective_;
  StepSamples step_;
  std::int64_t used_ = 0;
  bool stopped_ = false;
};

}  // namespace

std::unique_ptr<Strategy> make_all_reduce(const StrategyContext& context) {
  return std::make_unique<AllReduce>(context);
}

}  // namespace motley
