#include "cluster/fault_plan.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/check.h"

namespace motley {
namespace {

constexpr std::uint64_t kChurnStream = 0xc4000000;

// Exponentially distributed. uniform() is below 1, so the logarithm is finite.
Seconds exponential(Random& random, Seconds mean) { return -mean * std::log1p(-random.uniform()); }

}  // namespace

FaultPlan::FaultPlan(const ClusterSpec& cluster) : churn_(cluster.churn.value_or(Churn{})) {
  std::copy_if(cluster.events.begin(), cluster.events.end(), std::back_inserter(events_),
               [](const ClusterEvent& event) { return concerns_members(event.kind); });
  std::ranges::stable_sort(events_, {}, &ClusterEvent::at);
  for (int worker = 0; cluster.churn && worker < cluster.workers; ++worker) {
    Life life{Random(churn_.seed, kChurnStream + static_cast<std::uint64_t>(worker)),
              {.kind = EventKind::kDies, .worker = worker}};
    life.next.at = exponential(life.random, churn_.mtbf);
    due_.emplace(life.next.at, worker);
    lives_.push_back(life);
  }
}

// Whether the next event is one of the job.
bool FaultPlan::is_of_job() const {
  return position_ < events_.size() && (due_.empty() || events_[position_].at <= due_.top().first);
}

const ClusterEvent* FaultPlan::peek() {
  if (is_of_job()) {
    return &events_[position_];
  }
  return due_.empty() ? nullptr : &lives_[static_cast<std::size_t>(due_.top().second)].next;
}

void FaultPlan::pop() {
  if (is_of_job()) {
    ++position_;
    return;
  }
  MOTLEY_CHECK(!due_.empty(), "no event is left");
  const int worker = due_.top().second;
  due_.pop();
  Life& life = lives_[static_cast<std::size_t>(worker)];
  const bool is_gone = life.next.kind == EventKind::kDies;
  life.next.kind = is_gone ? EventKind::kJoins : EventKind::kDies;
  life.next.at += exponential(life.random, is_gone ? churn_.mttr : churn_.mtbf);
  due_.emplace(life.next.at, worker);
}

void FaultPlan::skip_until(Seconds now) {
  while (peek() && peek()->at <= now) {
    pop();
  }
}

}  // namespace motley
