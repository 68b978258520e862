// Message: what nodes send each other. It has a channel, a small header and a payload.
#pragma once

#include <cstdint>

#include "motley/base/ids.h"
#include "motley/node/payload.h"

namespace motley {

// The conversation a message belongs to. receive() takes messages of one channel only, so each
// method, and each activity of a worker, uses a channel of its own.
enum class Channel : std::uint32_t {
  kControl = 1,    // between coordinator and workers: join, start, progress, stop
  kAllReduce = 2,  // sync/all_reduce/all_reduce.h
  kShares = 3,     // sync/allocator.h
  kPartialReduce = 4,
  kSamples = 5,       // sync/sample_client.h
  kFinalAverage = 6,  // the average of all models at the end of a run
  kHop = 7,
  kAdPsgd = 8,     // models, to the activity that answers requests
  kAdPsgdEnd = 9,  // "no more requests", to the activity that trains
  kLocalSgd = 10,
  kServer = 11,     // between workers and parameter servers
  kPlan = 12,       // from the coordinator, to workers that commit to servers
  kBroadcast = 13,  // the model of rank 0, at the begin and end of a program's run
  kUser = 1000,     // this and higher: methods that are not part of motley
};

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
  Seconds sent = 0;  // the time of sending; the sender's clock is aligned to the receiver's
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
