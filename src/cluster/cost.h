// CostModel: how long a step takes on a worker: (parts * overhead + samples * unit / speed) *
// slowdown, where a share above the worker's micro-batch is computed in several parts.
#pragma once

#include <vector>

#include "base/random.h"
#include "motley/base/micro_batch.h"
#include "motley/cluster/spec.h"

namespace motley {

// One per worker. It draws slowdowns from its own random stream, so the cost of a worker's k-th
// step does not depend on other workers.
class CostModel {
 public:
  CostModel(const ClusterSpec& cluster, Rank rank, std::uint64_t seed,
            std::size_t micro_batch = kWholeShare);

  // The cost of this worker's next step if it begins at `now`. 0 on an unpaced cluster.
  Seconds next_step(Seconds now, std::size_t samples);

  // Speed of this worker at time `now` of the run.
  double speed_at(Seconds now) const;

 private:
  const Seconds unit_;
  const Seconds overhead_;  // of each part
  const std::size_t micro_batch_;
  const double speed_;                // until the first event
  std::vector<ClusterEvent> events_;  // of this worker's speed, ordered by time
  std::vector<RandomSlowdown> slowdowns_;
  Random random_;
};

// Samples per second of all workers together if none ever waited; 0 if not paced.
double ideal_rate(const ClusterSpec& cluster);

}  // namespace motley
