// What the machines of a run are like: the [cluster] table of a job.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "motley/base/ids.h"

namespace motley {

// Each step of each worker takes `factor` times as long with `probability`.
struct RandomSlowdown {
  double probability = 0;
  double factor = 1;
};

// From the moment `at` of the run on, a worker has another speed.
struct SpeedEvent {
  Seconds at = 0;
  Rank worker = 0;
  double speed = 1;
};

// How `train` gives workers their speeds.
enum class Isolation {
  kNone,    // by pacing
  kCgroup,  // by CPU quotas
};

struct ClusterSpec {
  int workers = 1;
  Seconds unit = 0;                        // one sample at speed 1; 0 = run free, nothing is paced
  std::vector<double> overhead;            // seconds a step costs whatever its size, one per worker
  std::vector<double> speeds;              // one per worker
  Seconds latency = 50e-6;                 // of every link, in the simulator
  std::vector<double> bandwidth;           // bytes per second, one per worker, in the simulator
  std::optional<double> server_bandwidth;  // of every server; the fastest worker's when not given
  std::vector<RandomSlowdown> slowdowns;
  std::vector<SpeedEvent> events;  // in order of time
  Seconds heartbeat = 5;           // a worker silent for so long is lost (train)
  int threads = 1;                 // torch threads of one worker
  Isolation isolate = Isolation::kNone;

  bool has_overhead() const {
    return std::ranges::any_of(overhead, [](Seconds each) { return each > 0; });
  }
  bool paced() const { return unit > 0 || has_overhead(); }
  bool has_quotas() const { return isolate == Isolation::kCgroup; }
};

}  // namespace motley
