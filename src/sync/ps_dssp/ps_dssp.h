// Dynamic stale synchronous parallel (DSSP; Zhao et al., ICDCS 2019): as SSP, but the bound
// moves between s_L and s_H while the run goes on.
//
// A worker that is the furthest ahead and would have to wait at s_L may make r* more commits first.
// The server predicts from the last two commits of that worker and of the slowest one when each of
// them commits next, and chooses r* such that the worker then stops closest to a commit of the
// slowest: it waits there for as short as possible.
//
//   T_p(r) = t_p + r I_p            r = 0 .. s_H - s_L        the fast worker's commits
//   T_s(k) = t_s + (k + 1) I_s      k = 0 .. s_H - s_L        those of the slowest
//   r*     = the r of the smallest |T_s(k) - T_p(r)|
//
// Cost: that of SSP, and a search over s_H - s_L numbers where a worker would have to wait.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "motley/sync/method.h"
#include "motley/sync/parameter_server/staleness_bound.h"

namespace motley {

extern const Method kPsDssp;

// When a worker last committed, and how long after the commit before. None: fewer than two.
struct CommitPace {
  Seconds last = 0;
  std::optional<Seconds> interval;
};

// r*: how many more commits, at most `most`, let the fast worker stop closest to a commit of the
// slowest. 0 where either pace is not known.
std::int64_t extra_commits(const CommitPace& fast, const CommitPace& slowest, std::int64_t most);

// The gate of DSSP. Pure, as all gates are (commit_gate.h).
class DynamicStaleness final : public CommitGate {
 public:
  DynamicStaleness(int workers, std::int64_t low, std::int64_t high);

  void arrive(const ArrivedCommit& commit) override;
  void leave(Rank worker) override;
  std::vector<GateDecision> decide() override;
  Figures figures() const override { return {{"extra_commits", granted_}}; }

 private:
  struct Worker {
    CommitPace pace;
    bool has_committed = false;
    std::int64_t extra = 0;  // r_p: commits beyond the lower bound that it may still make
    std::string news;        // why it has just been given some
    bool left = false;
  };

  void note_pace(Worker& worker, Seconds now);
  // The slowest of all others who are still there; nullopt: there are none.
  std::optional<Rank> slowest_but(Rank worker) const;
  // r* of this worker, whose commit would have to wait; 0 unless it is the furthest ahead.
  std::int64_t grant(const ArrivedCommit& commit, Worker& worker, Rank slowest);

  const std::int64_t low_;
  const std::int64_t high_;
  StalenessBound bound_;
  std::vector<Worker> workers_;
  std::int64_t newest_ = 0;   // the highest count of all workers
  std::int64_t granted_ = 0;  // commits beyond the lower bound
};

}  // namespace motley
