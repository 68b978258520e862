// Settings of the method ad_psgd: [strategy.ad_psgd] in a job file (docs/ad_psgd.md).
#pragma once

#include "motley/cluster/graph.h"

namespace motley {

struct AdPsgdOptions {
  GraphKind graph = GraphKind::kComplete;  // kRing or kComplete
};

}  // namespace motley
