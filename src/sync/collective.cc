#include "motley/sync/collective.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "base/check.h"
#include "codec/traffic.h"
#include "sync/ring_meeting.h"

namespace motley {
namespace {

constexpr std::size_t kSegment = Collective::kSegmentBytes / sizeof(float);
constexpr std::size_t kSegmentsAhead = 4;
static_assert(Collective::kSmallBytes <= Collective::kSegmentBytes, "small blocks are one segment");

void add(std::span<const float> from, float weight, float* to) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    to[i] = weight * to[i] + from[i];
  }
}

void scale(Block block, float weight) {
  if (weight != 1) {
    for (float& value : block.floats()) {
      value *= weight;
    }
  }
}

}  // namespace

std::vector<Rank> all_ranks(int size) {
  std::vector<Rank> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

Block chunk_of(Block block, int index, int count) {
  const auto i = static_cast<std::size_t>(index);
  const auto n = static_cast<std::size_t>(count);
  const std::size_t begin = block.size * i / n;
  const std::size_t end = block.size * (i + 1) / n;
  return block.part(begin, end - begin);
}

Collective::Collective(Node& node, Channel channel, std::vector<Rank> members)
    : node_(node),
      channel_(channel),
      members_(std::move(members)),
      size_(static_cast<int>(members_.size())),
      meeting_(nullptr) {
  const auto self = std::find(members_.begin(), members_.end(), node.rank());
  MOTLEY_CHECK(self != members_.end(), "rank {} is not a member of its group", node.rank());
  self_ = static_cast<int>(self - members_.begin());
}

Collective::Collective(Node& node, Channel channel, RingMeeting* meeting)
    : node_(node), channel_(channel), size_(node.size()), self_(node.rank()), meeting_(meeting) {}

void Undo::begin(Block room) {
  room_ = room;
  more_.clear();
  kept_.clear();
}

void Undo::keep(Block numbers) {
  if (numbers.phantom() || numbers.size == 0) {
    return;
  }
  if (room_.phantom() || room_.size < numbers.size) {
    more_.emplace_back(numbers.size);
    room_ = {more_.back().data(), numbers.size};
  }
  std::memcpy(room_.data, numbers.data, numbers.size * sizeof(float));
  kept_.push_back({numbers, room_.data});
  room_ = room_.part(numbers.size, room_.size - numbers.size);
}

void Undo::take_back() {
  for (const Kept& kept : kept_) {
    std::memcpy(kept.where.data, kept.numbers, kept.where.size * sizeof(float));
  }
  kept_.clear();
}

// What is about to change. Each number is saved once.
void Collective::save(Block numbers) {
  if (undo_) {
    undo_->keep(numbers);
  }
}

void Collective::sum(Block block, float weight, Undo* undo) {
  const bool is_small = block.size * sizeof(float) <= kSmallBytes;
  if (size_ == 1 || is_small) {
    undo_ = undo;
    save(block);
    undo_ = nullptr;
    scale(block, weight);
  }
  if (size_ == 1 || block.size == 0) {
    return;
  }
  if (is_small) {
    recursive_doubling(block);
    return;
  }
  undo_ = undo;
  save(chunk(block, self_));
  weigh_first(chunk(block, self_), weight);
  if (meeting_ && block.phantom()) {
    waited_ += meeting_->sum(node_, channel_, block.size);
  } else {
    ring(block, weight);
  }
}

// The chunk that is sent before anything has arrived.
void Collective::weigh_first(Block own, float weight) {
  if (weight != 1) {
    const auto weigh = [=] { scale(own, weight); };
    node_.process(copy_traffic(own.size), std::ref(weigh));
  }
}

// Reduce-scatter: in round k a member passes on chunk (self - k), which by then holds the sum of
// k+1 members. After n-1 rounds member i owns the sum of chunk i+1; all-gather passes it round.
//
// No sum is complete before the last member has arrived, so all-gather never waits for one: the
// time by which reduce-scatter took longer than all-gather, which moves as many bytes, was waiting.
//
// A member's own numbers are weighted when the sum of others is added to them, which saves a pass;
// the exception is the chunk that it sends first (weigh_first()).
//
// Adding is not given to Node::process(): while one segment is added, in the cache, the link
// carries the next ones, so only the last segment of a round adds to its time. A simulated phantom
// chunk arrives as one message, and processing it afterwards would add all of it.
void Collective::ring(Block block, float weight) {
  const int right = (self_ + 1) % size_;
  const int left = (self_ + size_ - 1) % size_;
  const Seconds began = node_.now();
  for (int k = 0; k < size_ - 1; ++k) {
    exchange(right, chunk(block, self_ - k), left, chunk(block, self_ - k - 1), weight);
  }
  const Seconds reduced = node_.now();
  for (int k = 0; k < size_ - 1; ++k) {
    exchange(right, chunk(block, self_ + 1 - k), left, chunk(block, self_ - k), kNone);
  }
  const Seconds gathered = node_.now();
  waited_ += std::max(0.0, (reduced - began) - (gathered - reduced));
}

// If n is not a power of two, the members beyond the largest one first hand their numbers to a
// partner and get the result from it at the end. a + b == b + a to the bit, so both partners of a
// round hold the same numbers.
//
// All of the time counts as waiting: moving a small block takes next to no time, and a late member
// cannot be told from a slow message.
void Collective::recursive_doubling(Block block) {
  const Seconds began = node_.now();
  const int core = static_cast<int>(std::bit_floor(static_cast<unsigned>(size_)));
  const int partner_beyond = self_ + core;
  if (self_ >= core) {
    send_segment(self_ - core, block);
    receive_segment(self_ - core, block, kNone);
  } else {
    if (partner_beyond < size_) {
      receive_segment(partner_beyond, block, kAll);
    }
    for (int distance = 1; distance < core; distance *= 2) {
      exchange(self_ ^ distance, block, self_ ^ distance, block, kAll);
    }
    if (partner_beyond < size_) {
      send_segment(partner_beyond, block);
    }
  }
  waited_ += node_.now() - began;
}

// Sends ahead by a few segments only: more would not fit into the sockets and would be copied.
void Collective::exchange(int to, Block out, int from, Block in, Keep keep) {
  const std::size_t segment = out.phantom() ? std::max<std::size_t>(out.size, 1) : kSegment;
  const std::size_t ahead = kSegmentsAhead * segment;
  std::size_t sent = 0;
  std::size_t received = 0;
  while (sent < out.size || received < in.size) {
    while (sent < out.size && (sent < received + ahead || received == in.size)) {
      const std::size_t count = std::min(segment, out.size - sent);
      send_segment(to, out.part(sent, count));
      sent += count;
    }
    if (received < in.size) {
      received += receive_segment(from, in.part(received, in.size - received), keep);
    }
  }
}

void Collective::send_segment(int to, Block segment) {
  node_.send(rank_of(to), channel_, {},
             segment.phantom() ? Payload::phantom(segment.size * sizeof(float))
                               : Payload::borrow(segment.floats()));
}

std::size_t Collective::receive_segment(int from, Block room, Keep keep) {
  const Rank rank = rank_of(from);
  const Message message = node_.receive({channel_, rank});
  const std::size_t count = message.payload.size() / sizeof(float);
  MOTLEY_CHECK(count > 0 && count <= room.size, "{} floats from rank {}, {} are missing", count,
               rank, room.size);
  const auto values = message.payload.floats();
  if (!room.phantom() && keep != kNone) {
    save(room.part(0, count));
    add(values, keep, room.data);
  } else if (!room.phantom()) {
    std::memcpy(room.data, values.data(), values.size_bytes());
  }
  return count;
}

Block Collective::chunk(Block block, int index) const {
  return chunk_of(block, (index + 2 * size_) % size_, size_);
}

}  // namespace motley
