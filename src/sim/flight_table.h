// Messages in flight between a sender and a mailbox of the simulator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "motley/node/message.h"

namespace motley {

// A message between send() and the receiver's mailbox. If `is_loss` is set instead, it marks the
// end of the sender's messages.
struct Flight {
  Rank to = 0;
  Message message;
  bool is_loss = false;
};

// Flights in progress, in reused slots: the event queue holds slot numbers instead of messages.
class FlightTable {
 public:
  std::uint32_t add(Flight flight) {
    if (unused_.empty()) {
      flights_.push_back(std::move(flight));
      return static_cast<std::uint32_t>(flights_.size() - 1);
    }
    const std::uint32_t index = unused_.back();
    unused_.pop_back();
    flights_[index] = std::move(flight);
    return index;
  }
  Flight take(std::uint32_t index) {
    unused_.push_back(index);
    return std::move(flights_[index]);
  }

 private:
  std::vector<Flight> flights_;
  std::vector<std::uint32_t> unused_;
};

}  // namespace motley
