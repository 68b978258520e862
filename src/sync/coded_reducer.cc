#include "sync/coded_reducer.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "motley/sync/collective.h"

namespace motley {
namespace {

constexpr std::uint64_t kRoundingStream = 0xc0dec'0000'0000;
constexpr std::size_t kTailBytes = Replica::kTail * sizeof(float);

}  // namespace

void CodedReducer::sum(Block block) {
  MOTLEY_CHECK(block.size >= Replica::kTail, "a block of {} has no tail", block.size);
  if (size_ == 1) {
    return;
  }
  const Block numbers = block.part(0, block.size - Replica::kTail);
  const Block own = chunk_of(numbers, self_, size_);
  const auto tail = block.part(numbers.size, Replica::kTail).floats();

  if (!block.phantom() && encoders_.empty()) {
    prepare();
  }
  const Seconds began = node_.now();
  send_contributions(numbers, tail);
  add_contributions(own);
  const Seconds reduced = node_.now();
  send_sum(own);
  take_sums(numbers);
  const Seconds gathered = node_.now();

  sum_tails(tail);
  waited_ += std::max(0.0, (reduced - began) - (gathered - reduced));
}

void CodedReducer::prepare() {
  const auto encoders = static_cast<std::size_t>(size_);
  tails_.resize(encoders * Replica::kTail);
  encoders_.reserve(encoders);
  const std::uint64_t stream = kRoundingStream + static_cast<std::uint64_t>(self_) * encoders;
  for (std::size_t chunk = 0; chunk < encoders; ++chunk) {
    encoders_.emplace_back(options_, seed_, stream + chunk);
  }
}

// Each starts with a different owner, so that they do not all send to the same one.
void CodedReducer::send_contributions(Block numbers, std::span<const float> tail) {
  if (!tail.empty()) {
    std::ranges::copy(tail, tails_.begin() + static_cast<std::ptrdiff_t>(Replica::kTail) * self_);
  }
  for (int distance = 1; distance < size_; ++distance) {
    const Rank owner = after(distance);
    const Block chunk = chunk_of(numbers, owner, size_);
    const std::size_t bytes = encoded_size(options_, chunk.size);
    if (numbers.phantom()) {
      node_.send(owner, channel_, {}, Payload::phantom(bytes + kTailBytes));
      continue;
    }
    const auto room = encode(owner, chunk.floats(), kTailBytes);
    std::memcpy(room.get() + bytes, tail.data(), kTailBytes);
    node_.send(owner, channel_, {}, Payload::adopt(room, {room.get(), bytes + kTailBytes}));
  }
}

// In the order of distances, whatever arrives first, so that a run can be repeated to the bit.
void CodedReducer::add_contributions(Block own) {
  for (int distance = 1; distance < size_; ++distance) {
    const Rank from = after(-distance);
    const Payload payload = received(from, own, kTailBytes);
    if (own.phantom()) {
      continue;
    }
    const auto numbers = payload.bytes().first(payload.size() - kTailBytes);
    check(add_decoded(options_.kind, numbers, 1, own.floats()), from);
    std::memcpy(&tails_[static_cast<std::size_t>(from) * Replica::kTail],
                payload.bytes().data() + numbers.size(), kTailBytes);
  }
}

void CodedReducer::send_sum(Block own) {
  if (own.size == 0) {
    return;
  }
  const std::size_t bytes = encoded_size(options_, own.size);
  Payload payload = Payload::phantom(bytes);
  if (!own.phantom()) {
    const auto room = encode(self_, own.floats(), 0);
    payload = Payload::adopt(room, {room.get(), bytes});
  }
  for (int distance = 1; distance < size_; ++distance) {
    node_.send(after(distance), channel_, {}, payload);
  }
  if (!own.phantom()) {
    check(decode(options_.kind, payload.bytes(), own.floats()), self_);
  }
}

void CodedReducer::take_sums(Block numbers) {
  for (int distance = 1; distance < size_; ++distance) {
    const Rank owner = after(-distance);
    const Block chunk = chunk_of(numbers, owner, size_);
    if (chunk.size == 0) {
      continue;
    }
    const Payload payload = received(owner, chunk, 0);
    if (!chunk.phantom()) {
      check(decode(options_.kind, payload.bytes(), chunk.floats()), owner);
    }
  }
}

// In the order of ranks, so that all get the same bits.
void CodedReducer::sum_tails(std::span<float> tail) {
  for (std::size_t i = 0; i < tail.size(); ++i) {
    float sum = 0;
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(size_); ++rank) {
      sum += tails_[rank * Replica::kTail + i];
    }
    tail[i] = sum;
  }
}

std::shared_ptr<std::byte> CodedReducer::encode(Rank chunk, std::span<const float> values,
                                                std::size_t behind) {
  const std::size_t bytes = encoded_size(options_, values.size());
  auto room = allocate_block(bytes + behind);
  encoders_[static_cast<std::size_t>(chunk)].encode(values, {room.get(), bytes});
  return room;
}

Payload CodedReducer::received(Rank from, Block numbers, std::size_t behind) {
  const Message message = node_.receive({channel_, from});
  const std::size_t expected = encoded_size(options_, numbers.size) + behind;
  const bool is_right =
      message.payload.size() == expected && (numbers.phantom() || !message.payload.is_phantom());
  if (!is_right) {
    check(fail("{} bytes instead of {}", message.payload.bytes().size(), expected), from);
  }
  return message.payload;
}

void CodedReducer::check(const Status& status, Rank from) const {
  if (!status) {
    throw Interrupted(from, fmt::format("numbers from rank {} arrived damaged: {}", from,
                                        status.error().message));
  }
}

}  // namespace motley
