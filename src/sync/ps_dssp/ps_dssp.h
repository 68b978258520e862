// Dynamic stale synchronous parallel (DSSP; Zhao et al., ICDCS 2019): like SSP, but the bound moves
// between s_L and s_H during the run.
//
// A worker that is the furthest ahead and would have to wait at s_L may make r* more commits first.
// The server predicts from the last two commits of that worker and of the slowest one when each of
// them commits next, and chooses r* so that the worker stops as close as possible to a commit of
// the slowest, where its wait is shortest.
//
//   T_p(r) = t_p + r I_p            r = 0 .. s_H - s_L        the fast worker's commits
//   T_s(k) = t_s + (k + 1) I_s      k = 0 .. s_H - s_L        those of the slowest
//   r*     = the r of the smallest |T_s(k) - T_p(r)|
//
// Cost: that of SSP, plus a search over s_H - s_L numbers when a worker would have to wait.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "motley/sync/method.h"
#include "motley/sync/parameter_server/staleness_bound.h"

namespace motley {

extern const Method kPsDssp;

// When a worker last committed, and the time between its last two commits (nullopt before the
// second commit).
struct CommitPace {
  Seconds last = 0;
  std::optional<Seconds> interval;

  void state(Archive& archive) {
    archive("last", last);
    archive("interval", interval);
  }
};

// r*: the number of further commits, at most `most`, after which the fast worker stops closest to a
// commit of the slowest. 0 if either pace is not known yet.
std::int64_t extra_commits(const CommitPace& fast, const CommitPace& slowest, std::int64_t most);

// The gate of DSSP. Pure, like all gates (commit_gate.h).
class DynamicStaleness final : public CommitGate {
 public:
  DynamicStaleness(int workers, std::int64_t low, std::int64_t high);

  void arrive(const ArrivedCommit& commit) override;
  void leave(Rank worker) override;
  std::vector<GateDecision> decide() override;
  Figures figures() const override { return {{"extra_commits", granted_}}; }
  void state(Archive& archive) override;

 private:
  struct Worker {
    CommitPace pace;
    bool has_committed = false;
    std::int64_t extra = 0;  // r_p: commits beyond the lower bound that it may still make
    std::string reason;      // why it has just been granted extra commits
    bool left = false;
  };

  void note_pace(Worker& worker, Seconds now);
  // The slowest of the other workers that have not left; nullopt if there is none.
  std::optional<Rank> slowest_but(Rank worker) const;
  // r* for a worker whose commit would have to wait; 0 if another worker is further ahead.
  std::int64_t grant(const ArrivedCommit& commit, Worker& worker, Rank slowest);

  const std::int64_t low_;
  const std::int64_t high_;
  StalenessBound bound_;
  std::vector<Worker> workers_;
  std::int64_t newest_ = 0;   // the highest commit number of all workers
  std::int64_t granted_ = 0;  // commits applied beyond the lower bound
};

}  // namespace motley
