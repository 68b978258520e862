// FaultPlan: who dies, leaves, joins or freezes in a run, and when: the events of the job and those
// that [cluster.churn] draws.
//
//   FaultPlan plan(job.cluster);
//   while (const ClusterEvent* next = plan.peek()) {  // churn never ends
//     wait_until(next->at);
//     ...
//     plan.pop();
//   }
//
// Churn: each of the workers 0 .. cluster.workers - 1 is there for a time, dies, is gone for a
// time, joins under the same id, and so on. The times are exponentially distributed. Every worker
// has its own random stream, so its times depend on the seed and its id alone. Pure: no clock; it
// does not know what became of the events.
#pragma once

#include <cstddef>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "base/random.h"
#include "motley/cluster/spec.h"

namespace motley {

class FaultPlan {
 public:
  explicit FaultPlan(const ClusterSpec& cluster);

  // The next event; nullptr if there is none. Valid until pop(). Events of the same time come in
  // this order: those of the job as they stand there, then those of churn by worker.
  const ClusterEvent* peek();
  // Goes on to the next one. There must be one.
  void pop();
  // Leaves out what was until `now`: for a run that goes on from a checkpoint.
  void skip_until(Seconds now);

 private:
  using Due = std::pair<Seconds, int>;  // when the next event of which worker is due

  // One worker under churn.
  struct Life {
    Random random;
    ClusterEvent next;
  };

  bool is_of_job() const;

  Churn churn_;
  std::vector<ClusterEvent> events_;  // of the job, ordered by time
  std::size_t position_ = 0;          // of the next one
  std::vector<Life> lives_;           // by worker; empty without churn
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
};

// How often a process that is lost is started again. A machine that vanishes with its worker, as
// churn says, cannot do that.
inline int most_respawns(const ClusterSpec& cluster, ProcessKind kind) {
  return cluster.churn && kind == ProcessKind::kWorker ? 0 : cluster.respawn;
}

}  // namespace motley
