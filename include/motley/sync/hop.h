// Settings of the method hop: [strategy.hop] in a job file (docs/hop.md).
#pragma once

#include <cstdint>
#include <vector>

#include "motley/cluster/graph.h"

namespace motley {

// Which updates of its in-neighbours a worker waits for.
enum class HopMode {
  kStandard,   // all
  kBackup,     // all but some
  kStaleness,  // older ones will do
  kNotifyAck,  // all, and nobody sends the next update before the last was taken
};

struct HopOptions {
  GraphKind graph = GraphKind::kRing;
  std::vector<Edge> edges = {};  // graph kEdges: from whom to whom
  HopMode mode = HopMode::kStandard;
  int backup = 1;              // N_buw: in-neighbours whose updates may be missing
  std::int64_t staleness = 5;  // s: iterations that an update may be old
  std::int64_t max_gap = 0;    // max_ig; 0: no tokens
  std::int64_t max_jump = 0;   // 0: no iteration is skipped

  Graph graph_among(int workers) const {
    return graph == GraphKind::kEdges ? Graph(workers, edges) : Graph::of(graph, workers);
  }
};

}  // namespace motley
