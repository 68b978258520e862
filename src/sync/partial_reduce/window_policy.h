// WindowPolicy: all workers that become ready within a short wait are a group. Pure, like all
// policies.
//
//   the first worker is ready  ->  wait  ->  all workers that are ready by then are a group
//
// The wait adapts: a group with fewer members than wanted doubles the next wait, any other group
// shortens it by a tenth. So the wait becomes just long enough for groups of the wanted size. A
// worker waits for at most a tenth of its own iteration; if it is alone then, it continues alone.
// Only the Controller's filter, which keeps the cluster connected, can make it wait longer.
//
// This follows the authors' public code, where the wait is 1 ms at first, at most 10 ms and at
// least 0.01 ms, for iterations of about 0.1 s. Here it is a fraction of the iteration of the
// worker that was ready first, so that it fits slower and faster workers too.
#pragma once

#include <cstddef>

#include "sync/partial_reduce/group_policy.h"

namespace motley {

class WindowPolicy final : public GroupPolicy {
 public:
  static constexpr double kFirstWait = 0.01;  // as a fraction of an iteration
  static constexpr double kLongestWait = 0.1;
  static constexpr double kShortestWait = 1e-4;
  static constexpr double kLonger = 2;
  static constexpr double kShorter = 0.9;

  // Groups have at least `wanted` members if the longest wait allows it.
  WindowPolicy(std::size_t workers, std::size_t wanted) : workers_(workers), wanted_(wanted) {
    wait_ = kFirstWait;
  }

  std::size_t size_now(const ReadyQueue& ready, Seconds now) const override;
  Seconds ask_again(const ReadyQueue& ready) const override;
  std::size_t largest() const override { return workers_; }
  void left(std::size_t size) override;
  std::string_view reason() const override { return "ready within the wait"; }
  void state(Archive& archive) override {
    GroupPolicy::state(archive);
    wait_ = wait_ > 0 ? wait_ : kFirstWait;
  }

  // As a fraction of an iteration.
  double wait() const { return wait_; }

 private:
  const std::size_t workers_;
  const std::size_t wanted_;
};

}  // namespace motley
