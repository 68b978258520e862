// GroupPolicy: when those who are ready become a group, and how many of them. The method's
// `policy` key chooses one: CountPolicy below, or window_policy.h.
//
// A policy knows nothing of who is ready, only how many and since when. Who of them is in the group
// is the Controller's (controller.h), whose filter may also make a group wait longer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "motley/base/ids.h"

namespace motley {

// Those who are ready.
struct ReadyQueue {
  std::size_t count = 0;          // one at least
  std::size_t still_to_come = 0;  // workers that compute
  Seconds first_came = 0;         // the one that waits longest
  Seconds first_period = 0;       // the time between its last two signals
};

class GroupPolicy {
 public:
  virtual ~GroupPolicy() = default;

  // How many of them may leave as a group now; 0: none yet.
  virtual std::size_t size_now(const ReadyQueue& ready, Seconds now) const = 0;
  // After size_now() was 0: the moment at which it will be more though nobody comes.
  virtual Seconds ask_again(const ReadyQueue& /*ready*/) const { return kNever; }
  // The largest group that there can be.
  virtual std::size_t largest() const = 0;
  // A group of this size has left.
  virtual void left(std::size_t /*size*/) {}
  // Why a group leaves that nothing but this policy decided on.
  virtual std::string_view reason() const = 0;

  static constexpr Seconds kNever = 1e18;
};

// The first P that are ready are a group (Miao et al., SIGMOD 2021). When nobody else can come,
// whoever waits goes, in a smaller group if need be.
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
