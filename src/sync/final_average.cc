#include "motley/sync/final_average.h"

#include <initializer_list>

#include "motley/sync/collective.h"

namespace motley {
namespace {

Seconds average(const StrategyContext& context, std::initializer_list<Block> blocks) {
  Collective collective(context.node, Channel::kFinalAverage, context.meeting);
  for (const Block& block : blocks) {
    collective.sum(block, 1.0F / static_cast<float>(context.node.size()));
  }
  return collective.waited();
}

}  // namespace

Seconds average_all(const StrategyContext& context) {
  return average(context, {context.replica.parameters(), context.replica.buffers()});
}

Seconds average_buffers(const StrategyContext& context) {
  return average(context, {context.replica.buffers()});
}

}  // namespace motley
