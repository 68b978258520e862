#include "fabric/frame.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"

namespace motley {
namespace {

constexpr std::uint32_t kMagic = 0x594c544d;  // "MTLY"
constexpr std::uint16_t kVersion = 4;
constexpr std::size_t kWords = 48;  // bytes before the checksum
constexpr double kMicroseconds = 1e6;
constexpr Seconds kRound = 4294.967296;  // 2^32 microseconds
constexpr std::size_t kStagingBytes = std::size_t{64} << 10;

template <class T>
void put(FrameHead& head, std::size_t offset, T value) {
  std::memcpy(head.data() + offset, &value, sizeof value);
}

template <class T>
T get(std::span<const std::byte> head, std::size_t offset) {
  T value;
  std::memcpy(&value, head.data() + offset, sizeof value);
  return value;
}

// FNV-1a over words of eight bytes. It distinguishes a frame from noise; it does not resist
// attacks.
std::uint32_t checksum(std::span<const std::byte> head) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  const auto add = [&](std::uint64_t word) {
    hash = (hash ^ word) * 0x100000001b3ULL;
    hash ^= hash >> 29;
  };
  for (std::size_t offset = 0; offset < kWords; offset += 8) {
    add(get<std::uint64_t>(head, offset));
  }
  add(get<std::uint32_t>(head, 52));
  return static_cast<std::uint32_t>(hash ^ (hash >> 32));
}

}  // namespace

Seconds whole_moment(Seconds part, Seconds now) {
  constexpr Seconds kTolerance = 1;  // clocks differ a little
  const double rounds = std::floor((now + kTolerance - part) / kRound);
  return rounds < 0 ? now : part + kRound * rounds;
}

FrameHead encode_head(FrameKind kind, const Message& message) {
  FrameHead head{};
  put(head, 0, kMagic);
  put(head, 4, kVersion);
  put(head, 6, static_cast<std::uint16_t>(kind));
  put(head, 8, static_cast<std::int32_t>(message.from));
  put(head, 12, static_cast<std::uint16_t>(message.channel));
  put(head, 14, message.term);
  put(head, 16, message.header.tag);
  put(head, 24, message.header.a);
  put(head, 32, message.header.b);
  put(head, 40, static_cast<std::uint64_t>(message.payload.size()));
  const auto sent = static_cast<std::int64_t>(std::max(0.0, message.sent) * kMicroseconds);
  put(head, 52, static_cast<std::uint32_t>(sent));
  put(head, 48, checksum(head));
  return head;
}

FrameReader::FrameReader(std::size_t payload_limit)
    : payload_limit_(payload_limit), staging_(kStagingBytes) {}

std::array<std::span<std::byte>, 2> FrameReader::space() {
  std::span<std::byte> rest;
  if (block_) {
    rest = {block_.get() + block_filled_, block_size_ - block_filled_};
  }
  return {rest, std::span(staging_).subspan(staged_)};
}

Status FrameReader::filled(std::size_t count, const Sink& sink) {
  if (block_) {
    const std::size_t into_block = std::min(count, block_size_ - block_filled_);
    block_filled_ += into_block;
    count -= into_block;
    if (block_filled_ == block_size_) {
      if (Status status = finish_payload(sink); !status) {
        return status;
      }
    }
  }
  staged_ += count;
  MOTLEY_CHECK(staged_ <= staging_.size(), "more bytes than space() offered");
  return parse_staged(sink);
}

Status FrameReader::parse_staged(const Sink& sink) {
  std::span<const std::byte> rest(staging_.data(), staged_);
  Status status;
  while (status && !block_ && rest.size() >= kFrameBytes) {
    std::size_t payload_size = 0;
    auto frame = decode_head(rest.first(kFrameBytes), &payload_size);
    if (!frame) {
      return tl::unexpected(frame.error());
    }
    rest = rest.subspan(kFrameBytes);
    pending_ = std::move(*frame);
    block_size_ = payload_size;
    block_filled_ = std::min(payload_size, rest.size());
    if (payload_size > 0) {
      block_ = allocate_block(payload_size);
      std::memcpy(block_.get(), rest.data(), block_filled_);
      rest = rest.subspan(block_filled_);
    }
    if (block_filled_ == block_size_) {
      status = finish_payload(sink);
    }
  }
  std::memmove(staging_.data(), rest.data(), rest.size());
  staged_ = rest.size();
  return status;
}

Result<Frame> FrameReader::decode_head(std::span<const std::byte> head,
                                       std::size_t* payload_size) const {
  if (get<std::uint32_t>(head, 0) != kMagic) {
    return fail("not a motley frame");
  }
  if (get<std::uint32_t>(head, 48) != checksum(head)) {
    return fail("damaged frame");
  }
  if (const auto version = get<std::uint16_t>(head, 4); version != kVersion) {
    return fail("frame of version {}, this is version {}", version, kVersion);
  }
  const auto kind = get<std::uint16_t>(head, 6);
  if (kind < 1 || kind > 4) {
    return fail("frame of unknown kind {}", kind);
  }
  const auto size = get<std::uint64_t>(head, 40);
  if (size > payload_limit_) {
    return fail("frame of {} bytes exceeds the limit of {}", size, payload_limit_);
  }
  *payload_size = static_cast<std::size_t>(size);
  Frame frame;
  frame.kind = static_cast<FrameKind>(kind);
  frame.message.from = get<std::int32_t>(head, 8);
  frame.message.channel = static_cast<Channel>(get<std::uint16_t>(head, 12));
  frame.message.term = get<std::uint16_t>(head, 14);
  frame.message.header = {get<std::int64_t>(head, 16), get<std::int64_t>(head, 24),
                          get<std::int64_t>(head, 32)};
  frame.message.sent = get<std::uint32_t>(head, 52) / kMicroseconds;
  return frame;
}

Status FrameReader::finish_payload(const Sink& sink) {
  if (block_) {
    pending_.message.payload = Payload::adopt(block_, {block_.get(), block_size_});
    block_ = nullptr;
  }
  return sink(std::move(pending_));
}

}  // namespace motley
