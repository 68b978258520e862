// The end of a run: what all workers leave is one model.
#pragma once

#include "motley/sync/strategy.h"

namespace motley {

// Every worker's model, with its buffers, becomes the mean of all; where workers have models of
// their own. Returns how long this worker waited for others.
Seconds average_all(const StrategyContext& context);
// The buffers alone, where the model is one already.
Seconds average_buffers(const StrategyContext& context);

}  // namespace motley
