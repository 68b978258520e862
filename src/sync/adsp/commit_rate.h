// ADSP's commit rate (Hu, Wang, Wu, AAAI 2020). Nobody ever waits: each worker trains on and
// commits when its timer says so, and all make the same number of commits in a check period however
// fast they are. How many, is searched for. Pure: no Node, no clock.
//
//   on the server, every period:              on every worker:
//     search.set_most(...)                      timer.begin_period(start, gamma,
//     ... a period with search.commits() ...        commits_for(target_total, done))
//     search.period_over({start, middle,        if (timer.due(when_the_next_iteration_ends)) ...
//                         end})                 timer.committed(now, cost)
//
// Cost: a few operations per call.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "motley/base/ids.h"

namespace motley {

struct LossSample {
  Seconds t = 0;
  double loss = 0;
};
using LossCurve = std::array<LossSample, 3>;  // a period's start, about its middle, its end

// The paper's reward: 1 / the moment at which loss(t) = 1 / (a^2 t + b) + c0 through the three
// samples comes down to `loss_target`, counted from t = 0, which is not after the first sample.
// Where no such curve falls through them (the loss does not fall slower and slower) it is a
// straight line from the first to the last. Finite and never below 0; 0 when the loss does not
// fall, when the curve stays above the target, or when there is nothing to reach.
double reward(const LossCurve& curve, double loss_target);

struct SearchOptions {
  std::int64_t start = 1;  // commits per worker and period
  // Rewards are compared for this loss, and time counts on the samples' own clock: a period is
  // better when the target is reached at an earlier moment. Without it, or once it is reached, the
  // target is 0.9 of the loss at the start of a period and time counts from there, so that a reward
  // is a relative speed and does not depend on how far training is. That is our choice.
  std::optional<double> loss_target = {};
};

// The paper's search, one check period at a time: one commit more for as long as that earns more.
// Then the rate stays until an epoch begins (restart()) or the loss rises by 30 % within a period.
// A new search starts from the rate there is; as in the paper, it does not look for a lower one.
class CommitSearch {
 public:
  explicit CommitSearch(const SearchOptions& options = {});

  // Commits wanted of every worker in the period now beginning.
  std::int64_t commits() const { return trying_ ? commits_ + 1 : commits_; }
  void period_over(const LossCurve& curve);
  void restart(std::string why);
  // Iterations that the slowest worker does in a period: more commits it cannot make. Between
  // periods. At least 1 counts.
  void set_most(std::int64_t most);

  bool searching() const { return searching_; }
  std::string reason() const { return reason_; }  // for this number of commits

 private:
  double reward_of(const LossCurve& curve) const;
  void try_one_more();
  void settle(std::string why);

  const SearchOptions options_;
  std::int64_t commits_;
  std::int64_t most_ = std::numeric_limits<std::int64_t>::max();
  bool searching_ = true;
  bool trying_ = false;  // one commit more than commits_, whose reward is known
  double reward_ = 0;    // of commits_
  std::string reason_;
};

// dC: commits that bring a worker which has made `done` up to the total that all should have made.
std::int64_t commits_for(std::int64_t target_total, std::int64_t done);

// When one worker commits. Commit k of a period should be over at start + k * gamma / commits, so
// it is due earlier by what the last one cost. The times are those of the period, not of the last
// commit: that a commit has to wait for the end of an iteration makes the next ones no later.
class CommitTimer {
 public:
  // From now on it is these commits that are due. `start` may be past already.
  void begin_period(Seconds start, Seconds gamma, std::int64_t commits);
  // Whether to commit after the iteration that is expected to end then. Never without an iteration
  // since the last commit, and never more than `commits` in a period.
  bool due(Seconds expected_end) const;
  // A commit that took `cost` is over.
  void committed(Seconds now, Seconds cost);

 private:
  Seconds start_ = 0;
  Seconds gamma_ = 0;
  std::int64_t commits_ = 0;
  std::int64_t made_ = 0;  // of them
  Seconds cost_ = 0;       // of the last commit, and when it was over
  Seconds last_ = -std::numeric_limits<Seconds>::infinity();
};

}  // namespace motley
