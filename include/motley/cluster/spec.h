// ClusterSpec: the machines of a run, as described by the [cluster] table of a job.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "motley/base/ids.h"
#include "motley/cluster/latency.h"

namespace motley {

// With `probability`, a step of a worker takes `factor` times as long.
struct RandomSlowdown {
  double probability = 0;
  double factor = 1;
};

// What happens to a worker or to its machine.
enum class EventKind {
  kSpeed,
  kBandwidth,
  kLatency,
  // These concern who is a member of the run.
  kDies,     // its process is gone at once, without a word
  kLeaves,   // it is asked to go, and leaves in order
  kJoins,    // a worker comes; it may be one that was lost, or a new one beyond cluster.workers
  kFreezes,  // its process stands still for a time
};

constexpr bool concerns_members(EventKind kind) {
  return kind == EventKind::kDies || kind == EventKind::kLeaves || kind == EventKind::kJoins ||
         kind == EventKind::kFreezes;
}

// At a time of the run, the speed of a worker or the link of its machine changes, or the worker
// goes, comes or freezes; or a server dies or freezes.
struct ClusterEvent {
  Seconds at = 0;
  EventKind kind = EventKind::kSpeed;
  int worker = 0;        // its id, which lasts for the run
  double speed = 1;      // kSpeed: from then on
  double bandwidth = 1;  // kBandwidth: bytes per second of its link, both ways, from then on
  Seconds latency = 0;   // kLatency: of its link, from then on
  Seconds seconds = 0;   // kFreezes: how long
  std::optional<std::int64_t> server = std::nullopt;  // its id, if it is not of a worker

  ProcessId process() const {
    return server ? ProcessId{ProcessKind::kServer, static_cast<int>(*server)}
                  : ProcessId{ProcessKind::kWorker, worker};
  }
};

// Workers that are lost and come back at random, each by itself: times that are drawn from
// exponential distributions.
struct Churn {
  Seconds mtbf = 0;  // mean time that a worker is there until it dies
  Seconds mttr = 0;  // mean time that it is gone until it, or one in its place, joins
  std::uint64_t seed = 1;
};

// How `train` gives workers their speeds.
enum class Isolation {
  kNone,    // by pacing
  kCgroup,  // by CPU quotas
};

struct ClusterSpec {
  int workers = 1;
  Seconds unit = 0;              // seconds per sample at speed 1; 0 = no pacing
  std::vector<double> overhead;  // fixed seconds per step, one per worker
  std::vector<double> speeds;    // one per worker
  // Machines and links (simulator only). Workers and servers of one machine share its link.
  std::vector<int> hosts;         // the machine of each worker; empty: worker i is on machine i
  std::vector<int> server_hosts;  // the machine of each server; empty: each has its own
  Latency latency = 50e-6;
  std::vector<double> bandwidth;       // bytes per second, one per worker
  std::vector<double> bandwidth_up;    // one per worker; empty: as bandwidth
  std::vector<double> bandwidth_down;  // one per worker; empty: as bandwidth
  // Of a machine that only has servers; default: the fastest worker's.
  std::optional<double> server_bandwidth;
  std::optional<double> backbone;  // bytes per second of all that crosses between machines
  double tcp_efficiency = 1;       // the part of a link's bandwidth that messages get
  // Bytes per second at which a machine moves numbers in its memory and works on them; none: that
  // takes no time.
  std::optional<double> memory_bandwidth;
  double unevenness = 0;           // of the shares that connections have of a link
  Seconds memory_latency = 10e-6;  // between workers of one machine
  std::vector<RandomSlowdown> slowdowns;
  std::vector<ClusterEvent> events;  // ordered by time
  Seconds heartbeat = 5;             // a worker that is silent for this long is lost (train)
  int threads = 1;                   // torch threads of one worker
  Isolation isolate = Isolation::kNone;
  bool elastic = true;          // false: the first worker that is lost ends the run
  int min_workers = 1;          // with fewer, the run waits for workers
  int respawn = 3;              // how often a lost local worker is started again
  Seconds rejoin_timeout = 60;  // how long a run with too few workers waits
  std::optional<Churn> churn;   // simulator only

  bool has_overhead() const {
    return std::ranges::any_of(overhead, [](Seconds each) { return each > 0; });
  }
  bool paced() const { return unit > 0 || has_overhead(); }
  bool has_quotas() const { return isolate == Isolation::kCgroup; }
};

}  // namespace motley
