// WindowPolicy: whoever is ready within a short wait is a group. Pure, as all policies.
//
//   the first is ready  ->  wait  ->  all who are ready by then are a group, whoever they are
//
// The wait adapts: a group with fewer members than wanted doubles the next wait, any other shortens
// it by a tenth. So it settles where groups just come about. Nobody waits longer than a tenth of
// its own iteration, and who is alone by then goes on alone; only the Controller's filter, which
// keeps the cluster connected, makes anybody wait longer.
//
// As in the authors' public code, where the wait is 1 ms at first, at most 10 ms and at least
// 0.01 ms, for iterations of about 0.1 s. Here it is in parts of an iteration of whoever was ready
// first, so that it fits slower and faster ones too.
#pragma once

#include <cstddef>

#include "sync/partial_reduce/group_policy.h"

namespace motley {

class WindowPolicy final : public GroupPolicy {
 public:
  static constexpr double kFirstWait = 0.01;  // of an iteration
  static constexpr double kLongestWait = 0.1;
  static constexpr double kShortestWait = 1e-4;
  static constexpr double kLonger = 2;
  static constexpr double kShorter = 0.9;

  // Groups have `wanted` members or more, if the wait can bring that about.
  WindowPolicy(std::size_t workers, std::size_t wanted) : workers_(workers), wanted_(wanted) {}

  std::size_t size_now(const ReadyQueue& ready, Seconds now) const override;
  Seconds ask_again(const ReadyQueue& ready) const override;
  std::size_t largest() const override { return workers_; }
  void left(std::size_t size) override;
  std::string_view reason() const override { return "ready within the wait"; }

  // In parts of an iteration.
  double wait() const { return wait_; }

 private:
  const std::size_t workers_;
  const std::size_t wanted_;
  double wait_ = kFirstWait;
};

}  // namespace motley
