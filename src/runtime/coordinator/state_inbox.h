// StateInbox: the states that processes were asked for between two terms. Pure.
//
//   inbox.expect(process, number, what);       // it was asked
//   if (!inbox.add(process, number, chunk)) { ... the sender is wrong ... }
//   if (inbox.has_all()) { ... inbox.take() ... }
//
// Chunks of a request that was withdrawn may still arrive: they are ignored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "motley/base/ids.h"
#include "runtime/run/state_stream.h"
#include "state/state.h"

namespace motley {

class StateInbox {
 public:
  struct Arrived {
    Rank process;
    bool is_model;
    State state;
  };

  void expect(Rank process, std::int64_t number, bool is_model) {
    missing_[number] = {process, is_model, {}};
  }
  // False if the chunk is damaged.
  bool add(Rank process, std::int64_t number, std::span<const std::byte> chunk) {
    const auto found = missing_.find(number);
    if (found == missing_.end() || found->second.process != process) {
      return true;
    }
    IncomingState& state = found->second.state;
    if (!state.add(chunk)) {
      return false;
    }
    if (state.complete()) {
      arrived_.push_back({process, found->second.is_model, state.take()});
      missing_.erase(found);
    }
    return true;
  }
  // This process is gone.
  void drop(Rank process) {
    std::erase_if(missing_, [&](const auto& each) { return each.second.process == process; });
  }
  bool has_all() const { return missing_.empty(); }
  // What has arrived since the last call.
  std::vector<Arrived> take() { return std::exchange(arrived_, {}); }

 private:
  struct Request {
    Rank process = kAnyRank;
    bool is_model = false;
    IncomingState state;
  };
  std::map<std::int64_t, Request> missing_;
  std::vector<Arrived> arrived_;
};

}  // namespace motley
