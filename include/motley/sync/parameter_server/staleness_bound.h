// StalenessBound: the gate of SSP (Ho et al., NIPS 2013) and of ASHL's fine stage (Shen et al.,
// IEEE TC 2024). With a bound of 0 all workers go in step, as in BSP; without a bound nobody waits,
// as in ASP.
//
// Workers count their commits from 1. A commit is applied once its count is at most `bound` ahead
// of the slowest worker's; until then its worker waits for the answer. The slowest worker never
// waits, so somebody can always go on.
//
// Cost of a commit: log n for n workers, whoever waits.
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

  // A commit without a step is applied at once, and its worker's count stays.
  void arrive(const ArrivedCommit& commit) override { arrive(commit, 0); }
  // As above, but this commit may be `extra` further ahead than the bound.
  void arrive(const ArrivedCommit& commit, std::int64_t extra);
  // A commit of this worker that waits is still applied.
  void leave(Rank worker) override;
  std::vector<GateDecision> decide() override;

  std::size_t waiting() const { return waiting_.size(); }
  // The last count heard from a worker.
  std::int64_t step_of(Rank worker) const { return step_of_[static_cast<std::size_t>(worker)]; }
  // Who is furthest behind of those who have not left, the lowest rank first. None: all have left.
  std::optional<Rank> slowest() const;

 private:
  static constexpr std::int64_t kUnbounded = INT64_MIN;
  static constexpr std::int64_t kLeft = Least<std::int64_t>::kNothing;

  struct Commit {
    std::int64_t step;     // less what it may be further ahead; kUnbounded: it waits for nobody
    std::int64_t arrival;  // counted
    Rank worker;

    auto operator<=>(const Commit&) const = default;
  };

  // Empty where the worker's commit before had to wait, or not, as this one.
  std::string reason_for(Rank worker, bool held);

  const std::optional<std::int64_t> bound_;
  std::vector<std::int64_t> step_of_;  // by worker, as last heard
  Least<std::int64_t> present_;        // the same; kLeft of who has left
  std::vector<bool> waits_;            // by worker
  std::vector<bool> held_;             // by worker: whether its last commit had to wait
  std::priority_queue<Commit, std::vector<Commit>, std::greater<>> waiting_;  // lowest step first
  std::vector<Rank> arrived_;  // since the last decision
  std::int64_t arrivals_ = 0;
};

// For ServerRules.
inline std::unique_ptr<CommitGate> staleness_bound(const Job& job,
                                                   std::optional<std::int64_t> bound) {
  return std::make_unique<StalenessBound>(job.cluster.workers, bound);
}

}  // namespace motley
