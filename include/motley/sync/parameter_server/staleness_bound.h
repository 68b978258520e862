// StalenessBound: the gate of SSP (Ho et al., NIPS 2013) and of ASHL's fine stage (Shen et al.,
// IEEE TC 2024). With a bound of 0 all workers advance in step, as in BSP; without a bound no
// worker waits, as in ASP.
//
// Workers number their commits from 1. A commit is applied once its number is at most `bound` above
// that of the slowest worker; until then its worker waits for the answer. The slowest worker never
// waits, so at least one worker can always continue.
//
// Cost of a commit: log n for n workers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <vector>

#include "motley/base/least.h"
#include "motley/job/job.h"
#include "motley/sync/parameter_server/commit_gate.h"

namespace motley {

class StalenessBound final : public CommitGate {
 public:
  StalenessBound(int workers, std::optional<std::int64_t> bound);

  // A commit without a step is applied at once and does not change its worker's number.
  void arrive(const ArrivedCommit& commit) override { arrive(commit, 0); }
  // As above, but this commit may be `extra` commits further ahead than the bound allows.
  void arrive(const ArrivedCommit& commit, std::int64_t extra);
  // If a commit of this worker is waiting, it will still be applied.
  void leave(Rank worker) override;
  std::vector<GateDecision> decide() override;

  std::size_t waiting() const { return waiting_.size(); }
  // The number of the last bounded commit of a worker.
  std::int64_t step_of(Rank worker) const { return step_of_[static_cast<std::size_t>(worker)]; }
  // The worker that is furthest behind, of those that have not left; the lowest rank if there are
  // several. nullopt if all have left.
  std::optional<Rank> slowest() const;

 private:
  static constexpr std::int64_t kUnbounded = INT64_MIN;
  static constexpr std::int64_t kLeft = Least<std::int64_t>::kNothing;

  struct Commit {
    std::int64_t step;     // minus `extra`; kUnbounded if it never waits
    std::int64_t arrival;  // its number in the order of arrival
    Rank worker;

    auto operator<=>(const Commit&) const = default;
  };

  // Empty if the worker's previous commit was treated the same way.
  std::string reason_for(Rank worker, bool held);

  const std::optional<std::int64_t> bound_;
  std::vector<std::int64_t> step_of_;  // by worker: its last commit
  Least<std::int64_t> present_;        // the same; kLeft for workers that have left
  std::vector<bool> waits_;            // by worker: a commit is waiting
  std::vector<bool> held_;             // by worker: its last commit had to wait
  std::priority_queue<Commit, std::vector<Commit>, std::greater<>> waiting_;  // lowest step first
  std::vector<Rank> arrived_;  // since the last decision
  std::int64_t arrivals_ = 0;
};

// The gate for ServerRules.
inline std::unique_ptr<CommitGate> staleness_bound(const Job& job,
                                                   std::optional<std::int64_t> bound) {
  return std::make_unique<StalenessBound>(job.cluster.workers, bound);
}

}  // namespace motley
