// How long a step lasts on a worker: (overhead + samples * unit / speed) * slowdown.
#pragma once

#include <vector>

#include "base/random.h"
#include "motley/cluster/spec.h"

namespace motley {

// One per worker; draws its slowdowns from a stream of its own, so that the cost of a worker's
// k-th step does not depend on what other workers do.
class CostModel {
 public:
  CostModel(const ClusterSpec& cluster, Rank rank, std::uint64_t seed);

  // The cost of the next step of this worker when it begins at `now`. 0 on a cluster that is not
  // paced.
  Seconds next_step(Seconds now, std::size_t samples);

  // Speed of this worker at a moment of the run.
  double speed_at(Seconds now) const;

 private:
  const Seconds unit_;
  const Seconds overhead_;
  const double speed_;              // until the first event
  std::vector<SpeedEvent> events_;  // of this worker, in order of time
  std::vector<RandomSlowdown> slowdowns_;
  Random random_;
};

// Samples per second of all workers together if none ever waited; 0 when not paced.
double ideal_rate(const ClusterSpec& cluster);

}  // namespace motley
