#include "sync/parameter_server/staleness_bound.h"

#include <algorithm>

#include "base/check.h"

namespace motley {

StalenessBound::StalenessBound(int workers, std::optional<std::int64_t> bound)
    : bound_(bound),
      step_of_(static_cast<std::size_t>(workers), 0),
      present_(static_cast<std::size_t>(workers), true) {
  MOTLEY_CHECK(!bound || *bound >= 0, "a bound of {}", *bound);
}

void StalenessBound::arrive(Rank worker, std::optional<std::int64_t> step) {
  const auto i = static_cast<std::size_t>(worker);
  MOTLEY_CHECK(i < step_of_.size() && present_[i], "worker {} is not there", worker);
  MOTLEY_CHECK(std::none_of(waiting_.begin(), waiting_.end(),
                            [&](const Commit& commit) { return commit.worker == worker; }),
               "worker {} waits already", worker);
  if (step) {
    MOTLEY_CHECK(*step > step_of_[i], "commit {} of worker {} after commit {}", *step, worker,
                 step_of_[i]);
    step_of_[i] = *step;
  }
  waiting_.push_back({worker, step});
}

void StalenessBound::leave(Rank worker) { present_.at(static_cast<std::size_t>(worker)) = false; }

// When all have left nobody is held back.
std::int64_t StalenessBound::slowest() const {
  std::int64_t least = INT64_MAX;
  for (std::size_t i = 0; i < step_of_.size(); ++i) {
    if (present_[i]) {
      least = std::min(least, step_of_[i]);
    }
  }
  return least;
}

std::vector<Rank> StalenessBound::release() {
  const std::int64_t least = slowest();
  const auto may_go = [&](const Commit& commit) {
    return !bound_ || !commit.step || *commit.step - least <= *bound_;
  };
  std::vector<Rank> released;
  for (const Commit& commit : waiting_) {
    if (may_go(commit)) {
      released.push_back(commit.worker);
    }
  }
  std::erase_if(waiting_, may_go);
  return released;
}

}  // namespace motley
