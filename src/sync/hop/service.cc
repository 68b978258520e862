#include <algorithm>

#include "motley/sync/sample_server.h"
#include "sync/hop/hop.h"
#include "sync/hop/messages.h"

namespace motley {

ServiceResult serve_hop(const ServiceContext& context) {
  const Graph graph = context.job.strategy.of<HopOptions>().graph_among(context.node.size());
  SampleServer server(context, GapMeter(graph));
  KeptState::restore(context.kept, server);
  server.run();
  KeptState::save(context.kept, server);

  HopCounts all{};
  for (std::vector<std::int64_t> counts : server.counts()) {
    counts.resize(kHopCounts, 0);
    for (const HopCount count : {kLargestUpdateQueue, kLargestTokenQueue}) {
      all[count] = std::max(all[count], counts[count]);
    }
    for (const HopCount count : {kUpdatesDropped, kJumps, kJumpsCutShort, kIterationsSkipped}) {
      all[count] += counts[count];
    }
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
