// The wire format: every message is one frame, a fixed head and a payload.
//
//   offset  size  field
//        0     4  magic "MTLY"
//        4     2  version
//        6     2  kind: hello, message, bye, pulse
//        8     4  sender's rank
//       12     2  channel
//       14     2  term of the sender, modulo 2^16
//       16    24  header: tag, a, b
//       40     8  payload size in bytes
//       48     4  checksum of all other bytes of the head
//       52     4  time of sending: microseconds of the run, modulo 2^32
//
// All numbers are little-endian. A connection begins with a hello and ends with a bye; messages
// come in between. A pulse says only that its sender is alive. Anything else is an Error for that
// connection. Nothing is allocated before the head has been checked.
//
// A hello: tag is the rank it is meant for, the payload is the run's token, the term is the one
// from which on the sender reaches this peer. What a sender has for a peer is a stream of messages
// that ends when either considers the other lost; `a` counts these streams from 1. Messages and the
// bye of a stream are numbered from 1, and `b` is the number of the first that this connection
// carries: a connection that replaces a broken one of the same stream repeats what may be missing.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "base/error.h"
#include "motley/node/message.h"

namespace motley {

enum class FrameKind : std::uint16_t { kHello = 1, kMessage = 2, kBye = 3, kPulse = 4 };

struct Frame {
  FrameKind kind = FrameKind::kMessage;
  Message message;
};

using FrameHead = std::array<std::byte, kFrameBytes>;

inline constexpr std::size_t kDefaultPayloadLimit = std::size_t{1} << 30;
// A hello carries a token and nothing else.
inline constexpr std::size_t kHelloPayloadLimit = 256;

// A head holds only the low bits of the time of sending. This restores the whole: the latest time
// with these bits that is not after `now`, apart from a small tolerance.
Seconds whole_moment(Seconds part, Seconds now);

FrameHead encode_head(FrameKind kind, const Message& message);

// Turns the bytes of one connection back into frames, however the stream was split.
//
//   read into reader.space() -> reader.filled(count, sink) -> and again
//
// Large payloads are read directly into their own block; small frames are read many at a time and
// copied once.
class FrameReader {
 public:
  explicit FrameReader(std::size_t payload_limit);

  // Where to put the next bytes, in this order: the rest of a payload, then the staging area.
  std::array<std::span<std::byte>, 2> space();

  // Call when `count` bytes were read. Passes every complete frame to the sink. After an Error, of
  // the sink or its own, the reader must not be used again.
  using Sink = std::function<Status(Frame)>;
  Status filled(std::size_t count, const Sink& sink);

  void set_payload_limit(std::size_t limit) { payload_limit_ = limit; }
  // True if the bytes so far end in the middle of a frame.
  bool in_frame() const { return block_ != nullptr || staged_ > 0; }

 private:
  Status parse_staged(const Sink& sink);
  Result<Frame> decode_head(std::span<const std::byte> head, std::size_t* payload_size) const;
  Status finish_payload(const Sink& sink);

  std::size_t payload_limit_;
  std::vector<std::byte> staging_;
  std::size_t staged_ = 0;  // bytes in staging_ not yet parsed
  // The frame whose payload is being received.
  Frame pending_;
  std::shared_ptr<std::byte> block_;
  std::size_t block_size_ = 0;
  std::size_t block_filled_ = 0;
};

}  // namespace motley
