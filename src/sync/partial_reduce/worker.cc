#include "motley/sync/collective.h"
#include "motley/sync/dealt_samples.h"
#include "sync/partial_reduce/messages.h"
#include "sync/partial_reduce/partial_reduce.h"

namespace motley {
namespace {

class PartialReduce final : public Strategy {
 public:
  explicit PartialReduce(const StrategyContext& context) : context_(context), samples_(context) {}

  std::optional<Work> begin() override {
    if (over_) {
      return std::nullopt;
    }
    samples_.begin();
    return samples_.work();
  }

  Progress finish(const Computed& computed) override {
    step(computed.samples);
    const GroupNews group = wait_for_group();
    const Progress progress = samples_.take(group.grant, computed);
    over_ = !samples_.goes_on();
    if (over_) {
      last_ = group;  // of all workers, who average only if the run is over
    } else {
      average(group);
    }
    iteration_ = group.iteration + 1;
    return progress;
  }

  void end_run() override { average(last_); }
  Seconds waited() const override { return waited_; }
  // A group that was cut off did not average: every member keeps its own model.
  std::optional<Settled> settle() override {
    undo_.take_back();
    return Settled{};
  }
  void state(Archive& archive) override { archive("iteration", iteration_); }

 private:
  void step(std::size_t samples) {
    if (samples > 0) {
      const double scale = own_step_scale(context_.ledger.options(), context_.node.size());
      context_.node.busy(0, [&] { context_.replica.apply(scale); });
    }
  }

  GroupNews wait_for_group() {
    const Seconds began = context_.node.now();
    const ReadySignal signal{iteration_, samples_.count(), samples_.want()};
    context_.node.send(kCoordinator, kGroupChannel, signal.header());
    const Message answer = context_.node.receive({kGroupChannel, kCoordinator});
    auto news = GroupNews::of(answer.payload);
    if (!news) {
      throw Interrupted(kCoordinator, "the controller's message is damaged");
    }
    waited_ += context_.node.now() - began;
    return std::move(*news);
  }

  void average(const GroupNews& group) {
    constexpr Channel kChannel = kGroupChannel;
    const bool is_of_all = group.members.empty();
    Collective collective = is_of_all ? Collective(context_.node, kChannel, context_.meeting)
                                      : Collective(context_.node, kChannel, group.members);
    undo_.begin(context_.replica.gradient());
    collective.sum(context_.replica.parameters(), group.weight, &undo_);
    collective.sum(context_.replica.buffers(), group.weight, &undo_);
    undo_.forget();
    waited_ += collective.waited();
  }

  StrategyContext context_;
  DealtSamples samples_;
  std::int64_t iteration_ = 0;
  GroupNews last_;
  Undo undo_;  // of an average
  bool over_ = false;
  Seconds waited_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_partial_reduce(const StrategyContext& context) {
  return std::make_unique<PartialReduce>(context);
}

}  // namespace motley
