// ADSP's commit rate (Hu, Wang, Wu, AAAI 2020): searches for the number of commits that all workers
// make in a check period, and decides when each worker commits. Pure: no Node, no clock.
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
#include "motley/state/archive.h"

namespace motley {

struct LossSample {
  Seconds t = 0;
  double loss = 0;

  void state(Archive& archive) {
    archive("t", t);
    archive("loss", loss);
  }
};
using LossCurve = std::array<LossSample, 3>;  // a period's start, about its middle, its end

// The paper's reward: 1 / t, where t is the time at which the curve loss(t) = 1 / (a^2 t + b) + c0
// through the three samples reaches `loss_target`. t = 0 must not be after the first sample. If
// there is no such curve (because the loss does not fall more and more slowly), a straight line
// from the first to the last sample is used. The reward is finite and never negative. It is 0 if
// the loss does not fall, if the curve never reaches the target, or if the target is already
// reached.
double reward(const LossCurve& curve, double loss_target);

struct SearchOptions {
  std::int64_t start = 1;  // commits per worker and period
  // Rewards are computed for this loss, with time as in the samples: a period is better if the
  // target is reached at an earlier time. If it is not given or already reached, the target is 0.9
  // of the loss at the start of the period, and time counts from there. The reward is then a
  // relative speed and does not depend on the progress of training. This fallback is our choice.
  std::optional<double> loss_target = {};
};

// The paper's search, one check period at a time: tries one more commit as long as that increases
// the reward. Then the rate stays until an epoch begins (restart()) or the loss rises by 30 %
// within a period. A new search starts from the current rate; as in the paper, it never lowers the
// rate.
class CommitSearch {
 public:
  explicit CommitSearch(const SearchOptions& options = {});

  // The commits that every worker should make in the period that begins now.
  std::int64_t commits() const { return trying_ ? commits_ + 1 : commits_; }
  void period_over(const LossCurve& curve);
  void restart(std::string why);
  // The most commits that the slowest worker can make in a period. Call it between periods. Values
  // below 1 count as 1.
  void set_most(std::int64_t most);

  bool searching() const { return searching_; }
  std::string reason() const { return reason_; }  // for the current number of commits
  void state(Archive& archive);

 private:
  double reward_of(const LossCurve& curve) const;
  void try_one_more();
  void settle(std::string why);

  const SearchOptions options_;
  std::int64_t commits_;
  std::int64_t most_ = std::numeric_limits<std::int64_t>::max();
  bool searching_ = true;
  bool trying_ = false;  // this period has commits_ + 1; the reward of commits_ is known
  double reward_ = 0;    // of commits_
  std::string reason_;
};

// dC: the commits that a worker still has to make to reach the common total.
std::int64_t commits_for(std::int64_t target_total, std::int64_t done);

// Decides when one worker commits. Commit k of a period should be complete at
// start + k * gamma / commits, so it is due earlier by the cost of the last commit. The times
// depend on the period, not on the last commit: a commit that is late, because it has to wait for
// the end of an iteration, does not delay the next ones.
class CommitTimer {
 public:
  // Replaces the schedule. `start` may be in the past.
  void begin_period(Seconds start, Seconds gamma, std::int64_t commits);
  // True if the worker should commit after the iteration that is expected to end at this time.
  // Never without an iteration since the last commit, and never more than `commits` times in a
  // period.
  bool due(Seconds expected_end) const;
  // A commit that took `cost` seconds is complete.
  void committed(Seconds now, Seconds cost);
  void state(Archive& archive);

 private:
  Seconds start_ = 0;
  Seconds gamma_ = 0;
  std::int64_t commits_ = 0;
  std::int64_t made_ = 0;  // commits made in this period
  Seconds cost_ = 0;       // of the last commit; last_ is when it was complete
  Seconds last_ = -std::numeric_limits<Seconds>::infinity();
};

}  // namespace motley
