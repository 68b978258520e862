// Settings of the method hop: [strategy.hop] in a job file (docs/hop.md).
#pragma once

#include <cstdint>
#include <vector>

#include "motley/cluster/graph.h"

namespace motley {

// Which updates of its in-neighbours a worker waits for.
enum class HopMode {
  kStandard,   // all
  kBackup,     // all except `backup` of them
  kStaleness,  // all, but older ones are accepted
  kNotifyAck,  // all; a worker sends its next update only after the last one was acknowledged
};

struct HopOptions {
  GraphKind graph = GraphKind::kRing;
  std::vector<Edge> edges = {};  // for graph kEdges
  HopMode mode = HopMode::kStandard;
  int backup = 1;              // N_buw: in-neighbours whose updates may be missing
  std::int64_t staleness = 5;  // s: how many iterations old an update may be
  std::int64_t max_gap = 0;    // max_ig: largest gap to an out-neighbour; 0: no tokens
  std::int64_t max_jump = 0;   // most iterations to advance at once; 0: never skip any

  Graph graph_among(int workers) const {
    return graph == GraphKind::kEdges ? Graph(workers, edges) : Graph::of(graph, workers);
  }
};

}  // namespace motley
