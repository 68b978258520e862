// Hop (Luo et al., ASPLOS 2019): no server and no barrier. A worker averages with its neighbours on
// a graph, and queues bound how far workers drift apart.
//
//   worker i, iteration k:   send x_k to the out-neighbours;  g = gradient(x_k);
//                            x_{k+1} = mean of the x_k that the in-neighbours sent, and its own
//                                      - lr * g
//
// The mode says which updates it waits for: all (standard), all but some (backup), also older ones
// (staleness), or all and nobody sends the next before the last was taken (notify_ack). Tokens
// (token_queue.h) bound the gap in the other direction, and tell a worker that is far behind how
// many iterations it may skip. rules.h has the decisions.
//
// The coordinator deals out the samples (sync/sample_server.h); models go from worker to worker
// only. At the end of the run all workers average once, so that it leaves one model.
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

}  // namespace motley
