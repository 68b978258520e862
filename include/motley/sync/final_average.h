// The end of a run: all workers leave one model.
#pragma once

#include "motley/sync/collective.h"
#include "motley/sync/strategy.h"

namespace motley {

// For methods in which workers have models of their own: every worker's model and buffers become
// the mean of all. Returns how long this worker waited for others.
// `undo` takes it back if it is cut off.
Seconds average_all(const StrategyContext& context, Undo& undo);
// Averages only the buffers, for methods in which the models are already equal.
Seconds average_buffers(const StrategyContext& context, Undo& undo);

}  // namespace motley
