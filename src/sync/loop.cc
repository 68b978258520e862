#include "sync/loop.h"

#include <algorithm>
#include <functional>

#include "cluster/cost.h"
#include "sync/registry.h"

namespace motley {

WorkerResult train(Node& node, const Part& part) {
  const Job& job = part.job;
  const StrategyEntry& method = *find_strategy(job.strategy.sync);
  Ledger ledger(ledger_options(job, part.training_samples));
  Allocator allocator(node, job, ledger.options(), method.advance);
  CostModel cost(job.cluster, node.rank(), job.seed);
  const auto strategy =
      method.make({node, part.replica, ledger, allocator, job, part.stop_requested, part.meeting});

  WorkerResult result;
  WorkerTimes& times = result.times;
  const Seconds began = node.now();
  while (const auto work = strategy->begin()) {
    const Seconds compute_began = node.now();
    double loss_sum = 0;
    const auto compute = [&] { loss_sum = part.replica.compute(work->samples); };
    node.busy(cost.next_step(compute_began, work->count), std::ref(compute));
    const Seconds computed = node.now() - compute_began;

    const Progress progress = strategy->finish({loss_sum, work->count});
    allocator.after_step(work->count, computed, progress.samples);
    result.samples += static_cast<std::int64_t>(work->count);
    result.steps += 1;
    times.compute += computed;
    times.seconds = node.now() - began;
    times.wait = strategy->waited() + allocator.waited();
    times.communicate = std::max(0.0, times.seconds - times.compute - times.wait);
    const auto report = [&] {
      part.observer.on_step(times.seconds, progress, result);
      if (progress.evaluate) {
        part.observer.on_snapshot(times.seconds, progress, part.replica);
      }
    };
    node.busy(0, std::ref(report));
  }
  result.allocation = allocator.result();
  return result;
}

void hold(Node& node, const Job& job) { find_strategy(job.strategy.sync)->hold(node, job); }

ServiceResult serve(Node& node, const Job& job, std::int64_t training_samples,
                    std::function<bool()> stop_requested) {
  const Serve serve = find_strategy(job.strategy.sync)->serve;
  const LedgerOptions ledger = ledger_options(job, training_samples);
  return serve ? serve({node, job, ledger, std::move(stop_requested)}) : ServiceResult{};
}

}  // namespace motley
