#include "fabric/sent_frames.h"

#include <utility>

#include "base/check.h"

namespace motley {

void SentFrames::add(OutgoingFrame frame, bool keep, std::uint64_t end) {
  frame.payload = keep ? frame.payload.kept() : Payload();
  bytes_ += frame.payload.size();
  dropped_ += keep ? 0 : 1;
  frames_.push_back({std::move(frame), keep, end});
}

void SentFrames::acknowledge(std::uint64_t bytes) {
  while (!frames_.empty() && frames_.front().end <= bytes) {
    bytes_ -= frames_.front().frame.payload.size();
    dropped_ -= frames_.front().kept ? 0 : 1;
    frames_.pop_front();
    ++acknowledged_;
  }
}

std::deque<OutgoingFrame> SentFrames::take() {
  MOTLEY_CHECK(can_be_repeated(), "{} frames were not kept", dropped_);
  std::deque<OutgoingFrame> frames;
  for (Sent& sent : frames_) {
    sent.frame.sent = 0;
    frames.push_back(std::move(sent.frame));
  }
  frames_.clear();
  bytes_ = 0;
  return frames;
}

}  // namespace motley
