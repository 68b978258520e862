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
// Cost: one look at every worker per release().
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"

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
  struct Commit {
    Rank worker;
    std::optional<std::int64_t> step;
  };
  std::int64_t slowest() const;

  const std::optional<std::int64_t> bound_;
  std::vector<std::int64_t> step_of_;  // by worker, as last heard
  std::vector<bool> present_;
  std::vector<Commit> waiting_;  // in the order of arrival
};

}  // namespace motley
