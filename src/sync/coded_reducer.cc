#include "sync/coded_reducer.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "codec/traffic.h"
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
  const Block tail = block.part(numbers.size, Replica::kTail);

  if (!block.phantom() && encoders_.empty()) {
    prepare();
  }
  const auto moved = [&] { return node_.now() - processed_; };
  const Seconds began = moved();
  send_contributions(numbers, tail);
  add_contributions(own);
  const Seconds reduced = moved();
  send_sum(own);
  take_sums(numbers);
  const Seconds gathered = moved();

  sum_tails(tail.floats());
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

void CodedReducer::state(Archive& archive) {
  bool is_prepared = !encoders_.empty();
  archive("is_prepared", is_prepared);
  if (is_prepared && encoders_.empty()) {
    prepare();
  }
  for (std::size_t chunk = 0; chunk < encoders_.size(); ++chunk) {
    archive(std::to_string(chunk), encoders_[chunk]);
  }
}

// Each starts with a different owner, so that they do not all send to the same one.
void CodedReducer::send_contributions(Block numbers, Block tail) {
  if (!tail.phantom()) {
    std::ranges::copy(tail.floats(),
                      tails_.begin() + static_cast<std::ptrdiff_t>(Replica::kTail) * self_);
  }
  for (int distance = 1; distance < size_; ++distance) {
    const Rank owner = after(distance);
    node_.send(owner, channel_, {}, encode(owner, chunk_of(numbers, owner, size_), tail));
  }
}

// In the order of distances, whatever arrives first, so that a run can be repeated to the bit.
void CodedReducer::add_contributions(Block own) {
  for (int distance = 1; distance < size_; ++distance) {
    const Rank from = after(-distance);
    const Payload payload = received(from, own, kTailBytes);
    const std::size_t coded = payload.size() - kTailBytes;
    const auto add = [&] {
      if (!own.phantom()) {
        const auto bytes = payload.bytes();
        check(add_decoded(options_.kind, bytes.first(coded), 1, own.floats()), from);
        std::memcpy(&tails_[static_cast<std::size_t>(from) * Replica::kTail], bytes.data() + coded,
                    kTailBytes);
      }
    };
    process(add_decoded_traffic(options_.kind, own.size, coded), std::ref(add));
  }
}

void CodedReducer::send_sum(Block own) {
  if (own.size == 0) {
    return;
  }
  const Payload payload = encode(self_, own, {});
  for (int distance = 1; distance < size_; ++distance) {
    node_.send(after(distance), channel_, {}, payload);
  }
  take_decoded(payload, own, self_);
}

void CodedReducer::take_sums(Block numbers) {
  for (int distance = 1; distance < size_; ++distance) {
    const Rank owner = after(-distance);
    const Block chunk = chunk_of(numbers, owner, size_);
    if (chunk.size == 0) {
      continue;
    }
    take_decoded(received(owner, chunk, 0), chunk, owner);
  }
}

void CodedReducer::take_decoded(const Payload& payload, Block chunk, Rank from) {
  const auto take = [&] {
    if (!chunk.phantom()) {
      check(decode(options_.kind, payload.bytes(), chunk.floats()), from);
    }
  };
  process(decode_traffic(options_.kind, chunk.size, payload.size()), std::ref(take));
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

Payload CodedReducer::encode(Rank chunk, Block numbers, Block behind) {
  const std::size_t coded = encoded_size(options_, numbers.size);
  const std::size_t bytes = coded + behind.size * sizeof(float);
  Payload payload = Payload::phantom(bytes);
  const auto write = [&] {
    if (!numbers.phantom()) {
      const auto room = allocate_block(bytes);
      encoders_[static_cast<std::size_t>(chunk)].encode(numbers.floats(), {room.get(), coded});
      std::ranges::copy(std::as_bytes(behind.floats()), room.get() + coded);
      payload = Payload::adopt(room, {room.get(), bytes});
    }
  };
  process(encode_traffic(options_, numbers.size), std::ref(write));
  return payload;
}

void CodedReducer::process(std::size_t bytes, const std::function<void()>& body) {
  const Seconds began = node_.now();
  node_.process(bytes, body);
  processed_ += node_.now() - began;
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
