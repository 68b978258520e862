// Speeds as quotas of processor time, for workers that share one machine.
#pragma once

#include <span>
#include <vector>

#include "motley/cluster/spec.h"

namespace motley {

// How many cores each worker may use: as much as possible in the ratio of the speeds, with at most
// `threads` per worker and `cores` in total.
std::vector<double> quotas_for(std::span<const double> speeds, int threads, int cores);

// The same for a cluster at time `now`. Leaves room for every worker's highest speed, so that an
// event of one worker does not change the quotas of the others.
std::vector<double> quotas_at(const ClusterSpec& cluster, Seconds now, int cores);

}  // namespace motley
