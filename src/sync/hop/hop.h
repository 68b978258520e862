// Hop (Luo et al., ASPLOS 2019): no server and no barrier. A worker averages with its neighbours on
// a graph, and queues bound how far workers drift apart.
//
//   worker i, iteration k:   send x_k to the out-neighbours;  g = gradient(x_k);
//                            x_{k+1} = mean of the x_k that the in-neighbours sent, and its own
//                                      - lr * g
//
// The mode says which updates a worker waits for: all (standard), all except a few (backup), all
// but older ones are accepted (staleness), or all, with an acknowledgement before the next update
// is sent (notify_ack). Tokens (token_queue.h) bound the gap in the other direction, and tell a
// worker that is far behind how many iterations it may skip. The decisions are in rules.h.
//
// The coordinator deals out the samples (motley/sync/sample_server.h); models are sent only between
// workers. At the end of the run all workers average once, so that there is one model.
//
// Cost per iteration: the model to every out-neighbour while the worker computes, then one pass
// over the models received.
#pragma once

#include <memory>

#include "motley/sync/hop.h"
#include "motley/sync/method.h"

namespace motley {

extern const Method kHop;

std::unique_ptr<Strategy> make_hop(const StrategyContext& context);
ServiceResult serve_hop(const ServiceContext& context);
MethodState fit_hop(const MethodState& before, const Refit& refit);

}  // namespace motley
