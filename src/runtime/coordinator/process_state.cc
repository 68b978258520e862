#include "runtime/coordinator/process_state.h"

#include <algorithm>
#include <iterator>

#include "runtime/run/server_figures.h"

namespace motley {
namespace {

WorkerSummary summary_of_worker(Rank rank, const DoneInfo& done) {
  WorkerSummary worker = summary_of(rank, done.result, done.bytes_sent);
  if (done.paced_steps > 0) {
    worker.pace_missed =
        static_cast<double>(done.missed_steps) / static_cast<double>(done.paced_steps);
  }
  return worker;
}

}  // namespace

void add_results(RunOutcome& outcome, const std::vector<ProcessState>& processes, int workers) {
  std::vector<Figures> of_servers;
  for (Rank rank = 0; rank < std::ssize(processes); ++rank) {
    const DoneInfo& done = *processes[static_cast<std::size_t>(rank)].done;
    if (rank >= workers) {
      outcome.servers.push_back({rank, done.bytes_sent});
      of_servers.push_back(done.figures);
      continue;
    }
    outcome.workers.push_back(summary_of_worker(rank, done));
    if (rank == 0) {
      outcome.allocation = summary_of(done.result.allocation);
    }
    outcome.seconds = std::max(outcome.seconds, done.result.times.seconds);
    outcome.samples = std::max(outcome.samples, done.cluster_samples);
  }
  std::ranges::move(figures_of_servers(of_servers), std::back_inserter(outcome.service.figures));
  wait_for_the_last(outcome);
}

}  // namespace motley
