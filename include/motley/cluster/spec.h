// ClusterSpec: the machines of a run, as described by the [cluster] table of a job.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "motley/base/ids.h"

namespace motley {

// With `probability`, a step of a worker takes `factor` times as long.
struct RandomSlowdown {
  double probability = 0;
  double factor = 1;
};

// From time `at` of the run, a worker has a new speed.
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
  Seconds unit = 0;                        // seconds per sample at speed 1; 0 = no pacing
  std::vector<double> overhead;            // fixed seconds per step, one per worker
  std::vector<double> speeds;              // one per worker
  Seconds latency = 50e-6;                 // of every link (simulator only)
  std::vector<double> bandwidth;           // bytes per second, one per worker (simulator only)
  std::optional<double> server_bandwidth;  // of every server; default: the fastest worker's
  double memory_bandwidth = 10e9;          // bytes per second within a machine
  std::vector<RandomSlowdown> slowdowns;
  std::vector<SpeedEvent> events;  // ordered by time
  Seconds heartbeat = 5;           // a worker that is silent for this long is lost (train)
  int threads = 1;                 // torch threads of one worker
  Isolation isolate = Isolation::kNone;

  bool has_overhead() const {
    return std::ranges::any_of(overhead, [](Seconds each) { return each > 0; });
  }
  bool paced() const { return unit > 0 || has_overhead(); }
  bool has_quotas() const { return isolate == Isolation::kCgroup; }
};

}  // namespace motley
