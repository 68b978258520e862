// MeasuredLinks: what a link probe (runtime/calibrate/link_probe.h) found, and the keys of
// [cluster] that say so. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "job/edit.h"
#include "motley/base/figure.h"
#include "motley/base/ids.h"
#include "motley/cluster/spec.h"

namespace motley {

// Between the ranks of one machine, all of them sending to the next at once.
struct WithinMachine {
  Seconds latency = 0;
  double bandwidth = 0;  // bytes per second that each of them sends
};

struct MeasuredLinks {
  std::vector<int> machines;    // of each rank, workers before servers; numbered from 0
  double memory_bandwidth = 0;  // bytes per second that a rank reads and writes when it adds
  std::optional<WithinMachine> within;  // set if a machine has two workers
  // The rest is measured if there are two machines. One value per machine, or per pair of them.
  std::vector<std::vector<Seconds>> latency;  // half a round trip; 0 from a machine to itself
  std::vector<double> up;                     // bytes per second to all the others
  std::vector<double> down;                   // from all the others
  std::optional<double> unevenness;           // of the shares of a link
  double together = 0;  // bytes per second in all if each sends to the next at once

  int machine_count() const;
};

// As figures of a run, and back.
Figures figures_of(const MeasuredLinks& links);
Result<MeasuredLinks> links_of(const Figures& figures);

// The links as keys of [cluster], in the order in which they are shown. Values that hardly differ
// are one number; a list has one per worker. Keys of the job that would take the place of what was
// measured are replaced, too. `servers` is the number of servers of the job; in the measurement one
// stands for all.
std::vector<Setting> settings_of(const MeasuredLinks& links, const ClusterSpec& cluster,
                                 int servers);

}  // namespace motley
