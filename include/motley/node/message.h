// Message: what nodes send each other. It has a channel, a small header and a payload.
#pragma once

#include <cstdint>

#include "motley/base/ids.h"
#include "motley/node/payload.h"

namespace motley {

// Who talks about what. A receive() takes messages of one channel; those of others wait for theirs.
enum class Channel : std::uint16_t {
  kControl = 1,       // coordinator and workers: join, start, progress, stop
  kShares = 2,        // sync/allocator.h
  kSamples = 3,       // sync/sample_client.h
  kFinalAverage = 4,  // the average of all models at the end of a run
  kBroadcast = 5,     // the model of rank 0, with which a program's workers begin and end
  kServer = 6,        // workers and parameter servers
  kGrants = 7,        // within a worker that reads ahead: sync/sample_client.h
  kMethod = 16,       // and up: the method's own, by method_channel()
};

// The method's own channels. A run has one method, so two methods may use the same number; two
// activities of one worker may not.
constexpr Channel method_channel(std::uint16_t number) {
  return static_cast<Channel>(static_cast<std::uint16_t>(Channel::kMethod) + number);
}

// Three numbers. Each channel defines what they mean: a step, a segment, a count.
struct Header {
  std::int64_t tag = 0;
  std::int64_t a = 0;
  std::int64_t b = 0;

  friend bool operator==(const Header&, const Header&) = default;
};

struct Message {
  Rank from = kAnyRank;
  Channel channel = Channel::kControl;
  Header header;
  Payload payload;
  Seconds sent = 0;        // the time of sending; the sender's clock is aligned to the receiver's
  std::uint16_t term = 0;  // the sender's, modulo 2^16; control messages belong to no term
};

// Bytes that a message adds to its payload on a link: the frame around it (fabric/frame.h).
inline constexpr std::size_t kFrameBytes = 56;

// Which messages receive() accepts: those of one channel, from one rank or from any rank.
struct Match {
  Channel channel;
  Rank from = kAnyRank;

  bool takes(const Message& message) const {
    return message.channel == channel && (from == kAnyRank || from == message.from);
  }
};

}  // namespace motley
