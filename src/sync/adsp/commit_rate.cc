#include "sync/adsp/commit_rate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace motley {
namespace {

constexpr double kRise = 0.3;    // relative rise of the loss that restarts the search
constexpr double kTarget = 0.9;  // default target, relative to the loss at the start of a period

// A loss that becomes infinite or NaN counts as risen.
bool has_risen(const LossCurve& curve) {
  const double before = curve[0].loss;
  const double after = curve[2].loss;
  return std::isfinite(before) &&
         (!std::isfinite(after) || after - before >= kRise * std::abs(before));
}

}  // namespace

// Let p and q be the slopes at which the loss falls in the first and in the second part. Since
// 1 / (l - c0) is linear in t, p (l2 - c0) = q (l0 - c0), hence c0 = (p l2 - q l0) / (p - q).
// Inserting this into a^2 / (1 / (target - c0) - b), with time counted from the first sample,
// leaves only the formula below; `bend` is p / q. A straight line is the case bend = 1, so the
// reward is continuous where a curve becomes a line.
double reward(const LossCurve& curve, double loss_target) {
  const auto [first, middle, last] = curve;
  const bool known =
      std::isfinite(first.loss) && std::isfinite(middle.loss) && std::isfinite(last.loss);
  const double fell = first.loss - last.loss;
  const double way = first.loss - loss_target;
  if (!known || !(fell > 0 && way > 0 && first.t < middle.t && middle.t < last.t)) {
    return 0;
  }
  const double p = (first.loss - middle.loss) / (middle.t - first.t);
  const double q = (middle.loss - last.loss) / (last.t - middle.t);
  const double bend = p > q && q > 0 ? p / q : 1;
  const double gain = (fell - (bend - 1) * (last.loss - loss_target)) / way;
  if (!(gain > 0)) {
    return 0;
  }
  const Seconds moment = first.t + (last.t - first.t) / gain;
  constexpr double kMost = std::numeric_limits<double>::max();
  return moment > 0 ? std::min(1 / moment, kMost) : kMost;
}

CommitSearch::CommitSearch(const SearchOptions& options)
    : options_(options), commits_(options.start) {
  MOTLEY_CHECK(options.start >= 1, "{} commits in a period", options.start);
  restart("the run begins");
}

double CommitSearch::reward_of(const LossCurve& curve) const {
  const double now = curve[0].loss;
  if (options_.loss_target && *options_.loss_target < now) {
    return reward(curve, *options_.loss_target);
  }
  LossCurve from_start = curve;
  for (LossSample& sample : from_start) {
    sample.t -= curve[0].t;
  }
  return reward(from_start, kTarget * now);
}

void CommitSearch::period_over(const LossCurve& curve) {
  if (!searching_) {
    if (has_risen(curve)) {
      restart(fmt::format("the loss rose from {:.4g} to {:.4g}", curve[0].loss, curve[2].loss));
    }
    return;
  }
  const double earned = reward_of(curve);
  if (!trying_) {
    reward_ = earned;
    try_one_more();
  } else if (earned > reward_) {
    ++commits_;
    reward_ = earned;
    try_one_more();
  } else {
    settle(fmt::format("one more earned {:.3g}, which is not more than {:.3g}", earned, reward_));
  }
}

void CommitSearch::restart(std::string why) {
  searching_ = true;
  trying_ = false;
  reason_ = fmt::format("{} commits a period: {}, what do they earn?", commits_, why);
}

void CommitSearch::set_most(std::int64_t most) {
  most_ = std::max<std::int64_t>(most, 1);
  if (commits() > most_) {
    commits_ = std::min(commits_, most_);
    settle("the slowest worker can make no more");
  }
}

void CommitSearch::try_one_more() {
  if (commits_ >= most_) {
    settle("the slowest worker can make no more");
    return;
  }
  trying_ = true;
  reason_ = fmt::format("{} commits a period: more than {:.3g}, which one fewer earned?",
                        commits_ + 1, reward_);
}

void CommitSearch::settle(std::string why) {
  searching_ = false;
  trying_ = false;
  reason_ = fmt::format("{} commits a period: {}", commits_, why);
}

std::int64_t commits_for(std::int64_t target_total, std::int64_t done) {
  return std::max<std::int64_t>(0, target_total - done);
}

void CommitTimer::begin_period(Seconds start, Seconds gamma, std::int64_t commits) {
  MOTLEY_CHECK(gamma > 0 && commits >= 0, "{} commits in {} s", commits, gamma);
  start_ = start;
  gamma_ = gamma;
  commits_ = commits;
  made_ = 0;
}

bool CommitTimer::due(Seconds expected_end) const {
  if (made_ >= commits_ || expected_end <= last_) {
    return false;
  }
  const double part = static_cast<double>(made_ + 1) / static_cast<double>(commits_);
  return expected_end >= start_ + part * gamma_ - cost_;
}

void CommitTimer::committed(Seconds now, Seconds cost) {
  ++made_;
  cost_ = cost;
  last_ = now;
}

void CommitSearch::state(Archive& archive) {
  archive("commits", commits_);
  archive("most", most_);
  archive("searching", searching_);
  archive("trying", trying_);
  archive("reward", reward_);
  archive("reason", reason_);
}

void CommitTimer::state(Archive& archive) {
  archive("start", start_);
  archive("gamma", gamma_);
  archive("commits", commits_);
  archive("made", made_);
  archive("cost", cost_);
  archive("last", last_);
}

}  // namespace motley
