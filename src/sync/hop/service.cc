#include <algorithm>

#include "motley/sync/sample_server.h"
#include "sync/hop/hop.h"
#include "sync/hop/messages.h"
#include "sync/refit.h"

namespace motley {
namespace {

void add_counts(HopCounts& sum, const HopCounts& more) {
  for (const HopCount count : {kLargestUpdateQueue, kLargestTokenQueue}) {
    sum[count] = std::max(sum[count], more[count]);
  }
  for (const HopCount count : {kUpdatesDropped, kJumps, kJumpsCutShort, kIterationsSkipped}) {
    sum[count] += more[count];
  }
}

}  // namespace

// Iterations begin with 0 in every term, so newcomers are no further behind than others.
MethodState fit_hop(const MethodState& before, const Refit& refit) {
  MethodState now{.service = before.service,
                  .workers = arranged_states(before.workers, refit.members),
                  .servers = {}};
  inherit<HopCounts>(now.workers, before.workers, refit.members, "counts", add_counts);
  return now;
}

ServiceResult serve_hop(const ServiceContext& context) {
  const Graph graph = context.job.strategy.of<HopOptions>().graph_among(context.node.size());
  SampleServer server(context, GapMeter(graph));
  KeptState::restore(context.kept, server);
  KeptState::save_after(context.kept, server, [&] { server.run(); });

  HopCounts all{};
  for (const std::vector<std::int64_t>& counts : server.counts()) {
    HopCounts its{};
    std::ranges::copy_n(counts.begin(), std::min(std::ssize(counts), std::ssize(its)), its.begin());
    add_counts(all, its);
  }
  ServiceResult result;
  result.max_iteration_gap = server.gaps().largest();
  result.figures = {
      {"diameter", static_cast<std::int64_t>(server.gaps().by_distance().size())},
      {"spectral_gap", figure_of(graph.spectral_gap())},
      {"mean_iterations", server.mean_iterations()},
      {"largest_gap_by_distance", server.gaps().by_distance()},
      {"largest_update_queue", all[kLargestUpdateQueue]},
      {"largest_token_queue", all[kLargestTokenQueue]},
      {"updates_dropped", all[kUpdatesDropped]},
      {"jumps", all[kJumps]},
      {"jumps_cut_short", all[kJumpsCutShort]},
      {"iterations_skipped", all[kIterationsSkipped]},
  };
  return result;
}

}  // namespace motley
