#include "runtime/run/outcome.h"

#include <algorithm>

#include "runtime/run/server_figures.h"

namespace motley {
namespace {

WorkerSummary summary_of_worker(Rank rank, const DoneInfo& done) {
  const WorkerResult& result = done.result;
  WorkerSummary worker;
  worker.rank = rank;
  worker.samples = result.samples;
  worker.steps = result.steps;
  worker.compute_seconds = result.times.compute;
  worker.wait_seconds = result.times.wait;
  worker.communicate_seconds = result.times.communicate;
  worker.bytes_sent = done.bytes_sent;
  worker.share = result.allocation.share;
  if (const StepCost& cost = result.allocation.cost; cost.known()) {
    worker.samples_per_second = static_cast<double>(worker.share) / cost.of(worker.share);
    worker.overhead_seconds = cost.fixed_known ? std::optional(cost.fixed) : std::nullopt;
  }
  if (done.paced_steps > 0) {
    worker.pace_missed =
        static_cast<double>(done.missed_steps) / static_cast<double>(done.paced_steps);
  }
  return worker;
}

AllocationSummary summary_of_allocation(const AllocationResult& allocation) {
  AllocationSummary summary;
  for (const ShareChange& change : allocation.history) {
    summary.history.push_back({change.step, change.decision.shares, change.decision.reason});
  }
  summary.last_look = allocation.last_look;
  return summary;
}

void wait_for_the_last(RunOutcome& outcome) {
  for (WorkerSummary& worker : outcome.workers) {
    worker.wait_seconds = outcome.seconds - worker.compute_seconds - worker.communicate_seconds;
  }
}

}  // namespace

WorkerFigures figures_of(const WorkerResult& result, std::int64_t bytes_sent) {
  return {.compute = result.times.compute,
          .communicate = result.times.communicate,
          .wait = result.times.wait,
          .samples = result.samples,
          .steps = result.steps,
          .share = result.step_samples,
          .bytes_sent = bytes_sent};
}

RunOutcome outcome_of(const std::vector<DoneInfo>& results, int workers) {
  RunOutcome outcome;
  std::vector<Figures> of_servers;
  for (Rank rank = 0; rank < std::ssize(results); ++rank) {
    const DoneInfo& done = results[static_cast<std::size_t>(rank)];
    if (rank >= workers) {
      outcome.servers.push_back({rank, done.bytes_sent});
      of_servers.push_back(done.figures);
      continue;
    }
    outcome.workers.push_back(summary_of_worker(rank, done));
    outcome.seconds = std::max(outcome.seconds, done.result.times.seconds);
    outcome.samples = std::max(outcome.samples, done.cluster_samples);
  }
  if (!results.empty()) {
    outcome.allocation = summary_of_allocation(results.front().result.allocation);
  }
  outcome.service.figures = figures_of_servers(of_servers);
  wait_for_the_last(outcome);
  return outcome;
}

}  // namespace motley
