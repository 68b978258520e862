#include "sync/parameter_server/staleness_bound.h"

#include <algorithm>

#include "base/check.h"

namespace motley {

StalenessBound::StalenessBound(int workers, std::optional<std::int64_t> bound)
    : bound_(bound),
      step_of_(static_cast<std::size_t>(workers), 0),
      present_(step_of_.size(), 0),
      waits_(step_of_.size(), false) {
  MOTLEY_CHECK(!bound || *bound >= 0, "a bound of {}", *bound);
}

void StalenessBound::arrive(Rank worker, std::optional<std::int64_t> step) {
  const auto i = static_cast<std::size_t>(worker);
  MOTLEY_CHECK(i < step_of_.size() && present_[i] != kLeft, "worker {} is not there", worker);
  MOTLEY_CHECK(!waits_[i], "worker {} waits already", worker);
  if (step) {
    MOTLEY_CHECK(*step > step_of_[i], "commit {} of worker {} after commit {}", *step, worker,
                 step_of_[i]);
    step_of_[i] = *step;
    present_.set(i, *step);
  }
  waits_[i] = true;
  waiting_.push({bound_ ? step.value_or(kUnbounded) : kUnbounded, arrivals_++, worker});
}

void StalenessBound::leave(Rank worker) {
  MOTLEY_CHECK(static_cast<std::size_t>(worker) < step_of_.size(), "no worker {}", worker);
  present_.set(static_cast<std::size_t>(worker), kLeft);
}

// When all have left nobody is held back.
std::vector<Rank> StalenessBound::release() {
  const std::int64_t slowest = present_.least();
  std::vector<Commit> released;
  while (!waiting_.empty() && (waiting_.top().step == kUnbounded ||
                               waiting_.top().step - slowest <= bound_.value_or(0))) {
    released.push_back(waiting_.top());
    waiting_.pop();
  }
  std::ranges::sort(released, {}, &Commit::arrival);
  std::vector<Rank> workers;
  for (const Commit& commit : released) {
    waits_[static_cast<std::size_t>(commit.worker)] = false;
    workers.push_back(commit.worker);
  }
  return workers;
}

}  // namespace motley
