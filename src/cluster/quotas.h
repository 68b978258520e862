// Speeds as quotas of processor time, for workers that share one machine.
#pragma once

#include <span>
#include <vector>

#include "motley/cluster/spec.h"

namespace motley {

// How many cores' worth of time each worker may use: as much as possible in the ratio of the
// speeds, no worker more than `threads` and all together no more than `cores`.
std::vector<double> quotas_for(std::span<const double> speeds, int threads, int cores);

// The same for a cluster at a moment of its run. An event of one worker leaves the others' quotas
// as they were: there is room for everybody's highest speed.
std::vector<double> quotas_at(const ClusterSpec& cluster, Seconds now, int cores);

}  // namespace motley
