#include "fabric/frame.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/random.h"

namespace motley {
namespace {

// Bytes that identify their position and tag: a different tag, or a shift by less than 256, changes
// all of them. Long ranges are copied and compared in one call, because ThreadSanitizer slows down
// single accesses.
Message message_of(std::size_t size, std::int64_t tag = 7) {
  std::array<std::byte, 256> period;
  for (std::size_t i = 0; i < period.size(); ++i) {
    period[i] = static_cast<std::byte>(i * 31 + static_cast<std::size_t>(tag));
  }
  std::vector<std::byte> bytes(size);
  for (std::size_t at = 0; at < size; at += period.size()) {
    std::memcpy(bytes.data() + at, period.data(), std::min(period.size(), size - at));
  }
  return {3, Channel::kMethod, {tag, -1, 1LL << 40}, Payload::copy_of(std::span(bytes))};
}

bool same_bytes(std::span<const std::byte> one, std::span<const std::byte> other) {
  return one.size() == other.size() &&
         (one.empty() || std::memcmp(one.data(), other.data(), one.size()) == 0);
}

void append(std::vector<std::byte>& stream, FrameKind kind, const Message& message) {
  const FrameHead head = encode_head(kind, message);
  stream.insert(stream.end(), head.begin(), head.end());
  const auto bytes = message.payload.bytes();
  stream.insert(stream.end(), bytes.begin(), bytes.end());
}

// Feeds a stream in pieces whose sizes `piece` draws; stops at the first error.
template <class Piece>
Status feed(FrameReader& reader, std::span<const std::byte> stream, Piece piece,
            const FrameReader::Sink& sink) {
  while (!stream.empty()) {
    std::size_t want = std::min<std::size_t>(piece(), stream.size());
    std::size_t got = 0;
    for (auto room : reader.space()) {
      const std::size_t count = std::min(want - got, room.size());
      if (count > 0) {
        std::memcpy(room.data(), stream.data() + got, count);
      }
      got += count;
    }
    stream = stream.subspan(got);
    if (Status status = reader.filled(got, sink); !status) {
      return status;
    }
  }
  return {};
}

std::vector<Frame> read_all(std::span<const std::byte> stream, std::size_t piece, Status* status) {
  std::vector<Frame> frames;
  FrameReader reader(kDefaultPayloadLimit);
  *status = feed(
      reader, stream, [&] { return piece; },
      [&](Frame frame) -> Status {
        frames.push_back(std::move(frame));
        return {};
      });
  return frames;
}

RC_GTEST_PROP(FrameReader, GivesBackWhatWasWrittenHoweverItIsCut, ()) {
  const auto sizes = *rc::gen::container<std::vector<std::size_t>>(rc::gen::oneOf(
      rc::gen::inRange<std::size_t>(0, 300), rc::gen::inRange<std::size_t>(60'000, 200'000)));
  const auto piece = *rc::gen::oneOf(rc::gen::inRange<std::size_t>(1, 200),
                                     rc::gen::inRange<std::size_t>(1'000, 300'000));
  std::vector<std::byte> stream;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    append(stream, FrameKind::kMessage, message_of(sizes[i], static_cast<std::int64_t>(i)));
  }
  Status status;
  const auto frames = read_all(stream, piece, &status);
  RC_ASSERT(status.has_value());
  RC_ASSERT(frames.size() == sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Message expected = message_of(sizes[i], static_cast<std::int64_t>(i));
    const Message& got = frames[i].message;
    RC_ASSERT(got.from == expected.from && got.channel == expected.channel);
    RC_ASSERT(got.header == expected.header);
    RC_ASSERT(same_bytes(got.payload.bytes(), expected.payload.bytes()));
  }
}

std::string error_of(std::span<const std::byte> stream) {
  Status status;
  read_all(stream, 1000, &status);
  return status ? "" : status.error().message;
}

TEST(FrameReader, RefusesWhatIsNotAFrame) {
  std::vector<std::byte> noise(200, std::byte{'G'});
  EXPECT_EQ(error_of(noise), "not a motley frame");
}

TEST(FrameReader, RefusesEveryDamagedHead) {
  std::vector<std::byte> good;
  append(good, FrameKind::kMessage, message_of(10));
  for (std::size_t i = 0; i < kFrameBytes; ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      auto bad = good;
      bad[i] ^= static_cast<std::byte>(1 << bit);
      EXPECT_NE(error_of(bad), "") << "byte " << i << " bit " << bit;
    }
  }
}

// Accurate to a microsecond, for as long as a run may last.
RC_GTEST_PROP(Frame, TheMomentOfSendingComesBack, ()) {
  const Seconds now = *rc::gen::inRange(0, 1'000'000) * 1.7 + 1e-3;
  const Seconds before = *rc::gen::inRange(0, 1'000) * 1e-6;
  Message message = message_of(0);
  message.sent = now - before;
  std::vector<std::byte> stream;
  append(stream, FrameKind::kMessage, message);
  Status status;
  const auto frames = read_all(stream, 100, &status);
  RC_ASSERT(frames.size() == 1U);
  RC_ASSERT(std::abs(whole_moment(frames[0].message.sent, now) - message.sent) < 2e-6);
}

TEST(Frame, AnImpossibleTimeBecomesNow) {
  EXPECT_EQ(whole_moment(4'000, 10), 10);
  EXPECT_EQ(whole_moment(10.5, 10), 10.5);
}

TEST(FrameReader, ChecksTheSizeBeforeAllocating) {
  // Only a head, which claims a payload of 2^60 bytes: allocating that would throw.
  Message huge;
  huge.payload = Payload::phantom(std::size_t{1} << 60);
  const FrameHead head = encode_head(FrameKind::kMessage, huge);
  EXPECT_EQ(error_of(head), "frame of 1152921504606846976 bytes exceeds the limit of 1073741824");
}

TEST(FrameReader, KnowsWhenAFrameIsCutShort) {
  std::vector<std::byte> stream;
  append(stream, FrameKind::kMessage, message_of(100'000));
  for (std::size_t length : {std::size_t{1}, kFrameBytes - 1, kFrameBytes, stream.size() - 1}) {
    FrameReader reader(kDefaultPayloadLimit);
    ASSERT_TRUE(feed(
        reader, std::span(stream).first(length), [] { return std::size_t{777}; },
        [](const Frame&) -> Status { return {}; }));
    EXPECT_TRUE(reader.in_frame()) << length;
  }
}

TEST(FrameReader, StopsWhenTheSinkRefuses) {
  std::vector<std::byte> stream;
  append(stream, FrameKind::kMessage, message_of(10));
  append(stream, FrameKind::kMessage, message_of(10));
  int seen = 0;
  FrameReader reader(kDefaultPayloadLimit);
  const Status status = feed(
      reader, stream, [] { return std::size_t{10'000}; },
      [&](const Frame&) -> Status {
        ++seen;
        return fail("no more");
      });
  EXPECT_FALSE(status);
  EXPECT_EQ(seen, 1);
}

// Random and mutated streams give an error or frames, never a crash, never more than was sent.
TEST(FrameReader, SurvivesThousandsOfMutations) {
  Random random(42);
  std::vector<std::byte> good;
  append(good, FrameKind::kHello, message_of(32));
  append(good, FrameKind::kMessage, message_of(0));
  append(good, FrameKind::kMessage, message_of(5'000));
  append(good, FrameKind::kBye, message_of(0));
  int errors = 0;
  for (int round = 0; round < 5'000; ++round) {
    auto stream = good;
    for (std::uint64_t change = random.below(4) + 1; change > 0; --change) {
      const auto at = static_cast<std::size_t>(random.below(stream.size()));
      switch (random.below(3)) {
        case 0:
          stream[at] = static_cast<std::byte>(random.below(256));
          break;
        case 1:
          stream.erase(stream.begin() + static_cast<std::ptrdiff_t>(at));
          break;
        default:
          stream.insert(stream.begin() + static_cast<std::ptrdiff_t>(at),
                        static_cast<std::byte>(random.below(256)));
      }
    }
    std::size_t received = 0;
    FrameReader reader(kDefaultPayloadLimit);
    const Status status = feed(
        reader, stream, [&] { return static_cast<std::size_t>(random.below(3'000) + 1); },
        [&](const Frame& frame) -> Status {
          received += kFrameBytes + frame.message.payload.size();
          return {};
        });
    EXPECT_LE(received, stream.size());
    errors += status ? 0 : 1;
  }
  EXPECT_GT(errors, 500);  // the mutations do reach the heads
}

}  // namespace
}  // namespace motley
