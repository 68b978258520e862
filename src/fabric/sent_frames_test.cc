#include "fabric/sent_frames.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

namespace motley {
namespace {

OutgoingFrame frame_of(std::int64_t tag, std::size_t size) {
  Message message;
  message.header.tag = tag;
  message.payload = Payload::copy_of(std::vector<float>(size, 0.5F));
  return {encode_head(FrameKind::kMessage, message), message.payload, true};
}

// Whatever is acknowledged when: what is left are the frames whose last byte is not acknowledged.
RC_GTEST_PROP(SentFrames, KeepWhatIsNotAcknowledged, ()) {
  SentFrames sent;
  std::vector<std::uint64_t> ends;
  std::uint64_t written = 0;
  std::uint64_t acknowledged = 0;
  for (const int size : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 200))) {
    OutgoingFrame frame =
        frame_of(static_cast<std::int64_t>(ends.size()), static_cast<std::size_t>(size));
    frame.sent = frame.size();
    written += frame.size();
    ends.push_back(written);
    sent.add(std::move(frame), true, written);
    acknowledged = std::max(acknowledged, *rc::gen::inRange<std::uint64_t>(0, written + 1));
    sent.acknowledge(acknowledged);
  }
  const auto gone = std::count_if(ends.begin(), ends.end(),
                                  [&](std::uint64_t end) { return end <= acknowledged; });
  RC_ASSERT(sent.first_number() == gone + 1);
  const auto again = sent.take();
  RC_ASSERT(again.size() == ends.size() - static_cast<std::size_t>(gone));
  RC_ASSERT(std::all_of(again.begin(), again.end(),
                        [](const OutgoingFrame& frame) { return frame.sent == 0; }));
  RC_ASSERT(sent.first_number() == gone + 1);
}

TEST(SentFrames, CannotRepeatWhatWasNotKept) {
  SentFrames sent;
  sent.add(frame_of(0, 100), false, 456);
  sent.add(frame_of(1, 100), true, 912);
  EXPECT_FALSE(sent.can_be_repeated());
  sent.acknowledge(456);
  EXPECT_TRUE(sent.can_be_repeated());
  EXPECT_EQ(sent.take().size(), 1U);
}

TEST(SentFrames, KeepABorrowedPayload) {
  std::vector<float> values(10, 1.5F);
  OutgoingFrame frame = frame_of(0, 0);
  frame.payload = Payload::borrow(values);
  SentFrames sent;
  sent.add(std::move(frame), true, 96);
  std::fill(values.begin(), values.end(), -1.0F);
  EXPECT_EQ(sent.take().front().payload.floats()[9], 1.5F);
}

}  // namespace
}  // namespace motley
