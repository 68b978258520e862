// Frames on their way to a peer, so that another connection can carry them if one gets stuck.
//
// A frame that the system has accepted may still be lost with its connection. SentFrames keeps the
// frames until the peer's machine has acknowledged them. Plain data, without sockets or locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "fabric/frame.h"

namespace motley {

struct OutgoingFrame {
  FrameHead head;
  Payload payload;
  bool numbered = false;  // counts as a frame of the stream: all but hellos and pulses
  std::size_t sent = 0;   // bytes

  std::size_t size() const { return kFrameBytes + payload.size(); }
  bool is_sent() const { return sent == size(); }
};

class SentFrames {
 public:
  // A numbered frame was written; `end`: bytes written over this connection so far. If its payload
  // is not worth keeping, the frame cannot be sent again.
  void add(OutgoingFrame frame, bool keep, std::uint64_t end);
  // The peer's machine has so many bytes of this connection.
  void acknowledge(std::uint64_t bytes);

  // The number of the first frame that is not acknowledged, and of the first to send again.
  std::int64_t first_number() const { return acknowledged_ + 1; }
  bool can_be_repeated() const { return dropped_ == 0; }
  // Many frames or bytes: time to ask what has been acknowledged.
  bool is_large() const { return frames_.size() >= kManyFrames || bytes_ >= kManyBytes; }
  // Everything that is not acknowledged, in order and as if nothing of it were sent, for another
  // connection. Call if can_be_repeated().
  std::deque<OutgoingFrame> take();

 private:
  static constexpr std::size_t kManyFrames = 32;
  static constexpr std::size_t kManyBytes = std::size_t{1} << 20;

  struct Sent {
    OutgoingFrame frame;
    bool kept;
    std::uint64_t end;
  };
  std::deque<Sent> frames_;
  std::size_t bytes_ = 0;          // of payloads in frames_
  std::size_t dropped_ = 0;        // frames in frames_ whose payload was not kept
  std::int64_t acknowledged_ = 0;  // frames
};

}  // namespace motley
