#include <algorithm>

#include "motley/sync/collective.h"
#include "sync/allocator.h"
#include "sync/partial_reduce/messages.h"
#include "sync/partial_reduce/partial_reduce.h"

namespace motley {
namespace {

class PartialReduce final : public Strategy {
 public:
  // The first step is dealt out as every rank can work out for itself; later ones come with the
  // groups.
  explicit PartialReduce(const StrategyContext& context) : context_(context) {
    samples_ = context.allocator.part_of(context.ledger.step_after(0));
  }

  std::optional<Work> begin() override {
    if (over_) {
      return std::nullopt;
    }
    context_.allocator.take_effect();  // what was decided while the last step went
    Work work;
    work.count = static_cast<std::size_t>(samples_.count);
    if (!context_.replica.gradient().phantom()) {
      work.samples = context_.ledger.samples(samples_);
    }
    return work;
  }

  Progress finish(const Computed& computed) override {
    step(computed.samples);
    const GroupNews group = wait_for_group(computed.samples);
    average(group);
    iteration_ = group.iteration + 1;
    samples_ = group.next;
    over_ = samples_.count == 0;

    Progress progress;
    progress.samples = group.used;
    if (group.evaluation > 0) {
      progress.evaluate = Evaluate{group.evaluation, context_.node.size()};
    }
    if (!context_.replica.gradient().phantom()) {
      progress.loss_sum = computed.loss_sum;
      progress.loss_samples = static_cast<std::int64_t>(computed.samples);
    }
    return progress;
  }

  Seconds waited() const override { return waited_; }

 private:
  void step(std::size_t samples) {
    if (samples > 0) {
      const double scale = own_step_scale(context_.ledger.options(), context_.node.size());
      context_.node.busy(0, [&] { context_.replica.apply(scale); });
    }
  }

  GroupNews wait_for_group(std::size_t samples) {
    const Seconds began = context_.node.now();
    // With fewer samples than workers some have no share of a common step; here they take one.
    const std::size_t want = std::max<std::size_t>(context_.allocator.next_share(), 1);
    const ReadySignal signal{iteration_, static_cast<std::int64_t>(samples),
                             static_cast<std::int64_t>(want)};
    context_.node.send(kCoordinator, Channel::kPartialReduce, signal.header());
    const Message answer = context_.node.receive({Channel::kPartialReduce, kCoordinator});
    auto news = GroupNews::of(answer.payload);
    if (!news) {
      throw Interrupted(kCoordinator, "the controller's message is damaged");
    }
    waited_ += context_.node.now() - began;
    return std::move(*news);
  }

  void average(const GroupNews& group) {
    constexpr Channel kChannel = Channel::kPartialReduce;
    const bool is_of_all = group.members.empty();
    Collective collective = is_of_all ? Collective(context_.node, kChannel, context_.meeting)
                                      : Collective(context_.node, kChannel, group.members);
    collective.sum(context_.replica.parameters(), group.weight);
    collective.sum(context_.replica.buffers(), group.weight);
    waited_ += collective.waited();
  }

  StrategyContext context_;
  StepSamples samples_;  // of the iteration under way
  std::int64_t iteration_ = 0;
  bool over_ = false;
  Seconds waited_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_partial_reduce(const StrategyContext& context) {
  return std::make_unique<PartialReduce>(context);
}

}  // namespace motley
