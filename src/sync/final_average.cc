#include "motley/sync/final_average.h"

#include <initializer_list>
namespace motley {
namespace {

Seconds average(const StrategyContext& context, Undo& undo, std::initializer_list<Block> blocks) {
  undo.begin(context.replica.gradient());
  Collective collective(context.node, Channel::kFinalAverage, context.meeting);
  for (const Block& block : blocks) {
    collective.sum(block, 1.0F / static_cast<float>(context.node.size()), &undo);
  }
  undo.forget();
  return collective.waited();
}

}  // namespace

Seconds average_all(const StrategyContext& context, Undo& undo) {
  return average(context, undo, {context.replica.parameters(), context.replica.buffers()});
}

Seconds average_buffers(const StrategyContext& context, Undo& undo) {
  return average(context, undo, {context.replica.buffers()});
}

}  // namespace motley
