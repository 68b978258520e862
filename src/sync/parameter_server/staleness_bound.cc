#include "motley/sync/parameter_server/staleness_bound.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace motley {

StalenessBound::StalenessBound(int workers, std::optional<std::int64_t> bound)
    : bound_(bound),
      step_of_(static_cast<std::size_t>(workers), 0),
      present_(step_of_.size(), 0),
      waits_(step_of_.size(), false),
      held_(step_of_.size(), false) {
  MOTLEY_CHECK(!bound || *bound >= 0, "a bound of {} commits", *bound);
}

void StalenessBound::arrive(const ArrivedCommit& commit, std::int64_t extra) {
  const auto i = static_cast<std::size_t>(commit.worker);
  MOTLEY_CHECK(i < step_of_.size() && present_[i] != kLeft, "worker {} does not exist or has left",
               commit.worker);
  MOTLEY_CHECK(!waits_[i], "worker {} is already waiting", commit.worker);
  MOTLEY_CHECK(extra >= 0, "{} extra commits", extra);
  std::int64_t step = kUnbounded;
  if (commit.step) {
    MOTLEY_CHECK(*commit.step > step_of_[i], "commit {} of worker {} after commit {}", *commit.step,
                 commit.worker, step_of_[i]);
    step_of_[i] = *commit.step;
    present_.set(i, *commit.step);
    step = bound_ ? *commit.step - extra : kUnbounded;
  }
  waits_[i] = true;
  waiting_.push({step, arrivals_++, commit.worker});
  arrived_.push_back(commit.worker);
}

void StalenessBound::leave(Rank worker) {
  MOTLEY_CHECK(static_cast<std::size_t>(worker) < step_of_.size(), "no worker {}", worker);
  present_.set(static_cast<std::size_t>(worker), kLeft);
}

// When all workers have left, no commit is held back.
std::vector<GateDecision> StalenessBound::decide() {
  const std::int64_t slowest_step = present_.least();
  std::vector<Commit> applied;
  while (!waiting_.empty() && (waiting_.top().step == kUnbounded ||
                               waiting_.top().step - slowest_step <= bound_.value_or(0))) {
    applied.push_back(waiting_.top());
    waiting_.pop();
  }
  std::ranges::sort(applied, {}, &Commit::arrival);
  const std::int64_t older = arrivals_ - std::ssize(arrived_);
  std::vector<GateDecision> decisions;
  for (const Commit& commit : applied) {
    waits_[static_cast<std::size_t>(commit.worker)] = false;
    // For a commit that had to wait, the reason was given when it arrived.
    const bool at_once = commit.arrival >= older;
    decisions.push_back({.worker = commit.worker,
                         .applied = true,
                         .reason = at_once ? reason_for(commit.worker, false) : "",
                         .note = {}});
  }
  for (const Rank worker : arrived_) {
    if (waits_[static_cast<std::size_t>(worker)]) {
      decisions.push_back(
          {.worker = worker, .applied = false, .reason = reason_for(worker, true), .note = {}});
    }
  }
  arrived_.clear();
  return decisions;
}

std::optional<Rank> StalenessBound::slowest() const {
  if (present_.least() == kLeft) {
    return std::nullopt;
  }
  std::size_t run = 0;
  for (int level = present_.top(); level > 0; --level) {
    run *= 2;
    run += present_.of_run(level - 1, run) == present_.least() ? 0 : 1;
  }
  return static_cast<Rank>(run);
}

// With a bound of 0, workers wait in every step as the job asks for, so no reason is given.
std::string StalenessBound::reason_for(Rank worker, bool held) {
  const auto i = static_cast<std::size_t>(worker);
  if (held_[i] == held || bound_ == 0) {
    return {};
  }
  held_[i] = held;
  const Rank last = slowest().value_or(worker);
  const std::int64_t ahead = step_of(worker) - step_of(last);
  if (!held && ahead > *bound_) {
    return "this commit is not bounded";
  }
  return fmt::format("{} ahead of worker {}, the slowest; {} allowed", ahead, last, *bound_);
}

}  // namespace motley
