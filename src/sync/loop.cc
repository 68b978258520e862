#include "sync/loop.h"

namespace motley {

WorkerResult train(Node& node, Strategy& strategy, Replica& replica, CostModel& cost,
                   Observer& observer) {
  WorkerResult result;
  const Seconds began = node.now();
  while (auto work = strategy.begin()) {
    const Seconds compute_began = node.now();
    double loss_sum = 0;
    node.busy(cost.next_step(compute_began, work->count),
              [&] { loss_sum = replica.compute(work->samples); });
    result.times.compute += node.now() - compute_began;

    const Progress progress = strategy.finish({loss_sum, work->count});
    result.samples += static_cast<std::int64_t>(work->count);
    result.steps += 1;
    result.times.seconds = node.now() - began;
    result.times.wait = strategy.waited();
    result.times.communicate = result.times.seconds - result.times.compute - result.times.wait;
    node.busy(0, [&] {
      observer.on_step(result.times.seconds, progress, result);
      if (progress.snapshot) {
        observer.on_snapshot(result.times.seconds, progress, replica);
      }
    });
  }
  return result;
}

}  // namespace motley
