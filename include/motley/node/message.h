// What travels between nodes: a channel, a small header, a payload.
#pragma once

#include <cstdint>

#include "motley/base/ids.h"
#include "motley/node/payload.h"

namespace motley {

// Who talks about what. Messages of different channels never overtake a receive() for another one;
// a method takes a number of its own here, so that two activities of a worker do not mix.
enum class Channel : std::uint32_t {
  kControl = 1,    // coordinator and workers: join, start, progress, stop
  kAllReduce = 2,  // sync/all_reduce/all_reduce.h
  kShares = 3,     // sync/allocator.h
  kPartialReduce = 4,
  kSamples = 5,       // sync/sample_client.h
  kFinalAverage = 6,  // the average of all models at the end of a run
  kHop = 7,
  kAdPsgd = 8,     // models, to whom answers beside training
  kAdPsgdEnd = 9,  // nobody asks any more, to whom trains
  kLocalSgd = 10,
  kServer = 11,     // workers and parameter servers
  kPlan = 12,       // from the coordinator, to workers that commit to servers
  kBroadcast = 13,  // the model of rank 0, with which a program's workers begin and end
  kUser = 1000,     // and up: methods that are not part of motley
};

// Three numbers whose meaning is the channel's: a step, a segment, a count.
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
  Seconds sent = 0;  // by the sender's clock, which is aligned to the receiver's
};

// What a message costs on a link besides its payload: the frame around it (fabric/frame.h).
inline constexpr std::size_t kFrameBytes = 56;

// Which messages a receive() takes: those of one channel, from one rank or from any.
struct Match {
  Channel channel;
  Rank from = kAnyRank;

  bool takes(const Message& message) const {
    return message.channel == channel && (from == kAnyRank || from == message.from);
  }
};

}  // namespace motley
