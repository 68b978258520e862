// GroupPolicy: decides when ready workers become a group, and how many of them. The method's
// `policy` key chooses one: CountPolicy below, or window_policy.h.
//
// A policy does not know which workers are ready, only how many and since when. The Controller
// (controller.h) chooses the members; its filter may also make a group wait longer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "motley/base/ids.h"
#include "motley/state/archive.h"

namespace motley {

// The workers that are ready.
struct ReadyQueue {
  std::size_t count = 0;          // at least one
  std::size_t still_to_come = 0;  // workers that are still computing
  Seconds first_came = 0;         // when the longest waiting worker became ready
  Seconds first_period = 0;       // the time between its last two signals
};

class GroupPolicy {
 public:
  virtual ~GroupPolicy() = default;

  // How many workers may leave as a group now; 0 if none may leave yet.
  virtual std::size_t size_now(const ReadyQueue& ready, Seconds now) const = 0;
  // After size_now() returned 0: the time at which it will return more even if no other worker
  // becomes ready.
  virtual Seconds ask_again(const ReadyQueue& /*ready*/) const { return kNever; }
  // The largest possible group.
  virtual std::size_t largest() const = 0;
  // Called when a group of this size has left.
  virtual void left(std::size_t /*size*/) {}
  // The reason for a group that only this policy decided on.
  virtual std::string_view reason() const = 0;
  // What it has learnt, for the next term. It must restore what any other policy has saved, because
  // a run may go on with another one.
  virtual void state(Archive& archive) { archive("wait", wait_); }

  static constexpr Seconds kNever = 1e18;

 protected:
  double wait_ = 0;  // as a fraction of an iteration; 0: not known
};

// The first P ready workers are a group (Miao et al., SIGMOD 2021). If no other worker can become
// ready, the waiting workers leave, even if they are fewer than P.
class CountPolicy final : public GroupPolicy {
 public:
  explicit CountPolicy(std::size_t group) : group_(group) {}

  std::size_t size_now(const ReadyQueue& ready, Seconds) const override {
    const bool goes = ready.count >= group_ || ready.still_to_come == 0;
    return goes ? std::min(ready.count, group_) : 0;
  }
  std::size_t largest() const override { return group_; }
  std::string_view reason() const override { return "first come, first served"; }

 private:
  const std::size_t group_;
};

}  // namespace motley
