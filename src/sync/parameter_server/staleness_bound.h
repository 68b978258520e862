// StalenessBound: which commits a parameter server may apply now. The rule of SSP (Ho et al., NIPS
// 2013), and of ASHL's fine stage (Shen et al., IEEE TC 2024). Pure: no Node.
//
//   bound.arrive(worker, step);                       // a commit has come
//   for (Rank worker : bound.release()) { ... apply its commit, answer it ... }
//
// Workers count their commits under the bound from 1. A commit is applied once its count is at most
// `bound` ahead of the slowest worker's; until then the worker waits for its answer. The slowest
// one never waits, so somebody can always go on. With a bound of 0 all go in step, as in BSP;
// without one nobody waits, as in ASP.
//
// Cost of a commit: log n for n workers, whoever waits.
#pragma once

#include <cstdint>
#include <optional>
#include <queue>
#include <vector>

#include "base/least.h"
#include "motley/base/ids.h"

namespace motley {

class StalenessBound {
 public:
  StalenessBound(int workers, std::optional<std::int64_t> bound);

  // A commit of a worker that waits for no other one. Without a step it is not bounded (AHL): it is
  // released at once, and its worker's count stays.
  void arrive(Rank worker, std::optional<std::int64_t> step);
  // It has done its part and holds nobody back any more. A commit of it that waits still counts.
  void leave(Rank worker);
  // Whose commits may be applied now, in the order of their arrival; each is told once.
  std::vector<Rank> release();

  std::size_t waiting() const { return waiting_.size(); }

 private:
  static constexpr std::int64_t kUnbounded = INT64_MIN;
  static constexpr std::int64_t kLeft = Least<std::int64_t>::kNothing;

  struct Commit {
    std::int64_t step;     // kUnbounded: it waits for nobody
    std::int64_t arrival;  // counted
    Rank worker;

    auto operator<=>(const Commit&) const = default;
  };

  const std::optional<std::int64_t> bound_;
  std::vector<std::int64_t> step_of_;  // by worker, as last heard
  Least<std::int64_t> present_;        // the same; kLeft of who has left
  std::vector<bool> waits_;            // by worker
  std::priority_queue<Commit, std::vector<Commit>, std::greater<>> waiting_;  // lowest step first
  std::int64_t arrivals_ = 0;
};

}  // namespace motley
