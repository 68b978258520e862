#include "sync/ring_times.h"

#include <algorithm>
#include <vector>

#include "motley/node/message.h"
#include "motley/sync/collective.h"

namespace motley {
namespace {

// The chunks of a block as messages. An empty chunk is not sent.
std::vector<std::size_t> chunk_bytes(std::size_t floats, int count) {
  std::vector<std::size_t> bytes;
  for (int i = 0; i < count; ++i) {
    const std::size_t size = chunk_of({nullptr, floats}, i, count).size;
    bytes.push_back(size > 0 ? size * sizeof(float) + kFrameBytes : 0);
  }
  return bytes;
}

// One round: member i sends chunk `first` + i, then receives the one of its left neighbour.
void pass(std::span<RingMember> members, std::span<const std::size_t> bytes, std::size_t first,
          Seconds latency) {
  const auto send = [&](RingMember& member, std::size_t size) {
    return size > 0 ? member.link.depart(size, member.at, latency) : Crossing{};
  };
  const std::size_t last = members.size() - 1;
  std::size_t chunk = first == 0 ? last : first - 1;
  std::size_t size = bytes[chunk];
  const Crossing of_last = send(members[last], size);
  Crossing coming = of_last;
  for (std::size_t i = 0; i <= last; ++i) {
    RingMember& member = members[i];
    chunk = chunk == last ? 0 : chunk + 1;
    const std::size_t own_size = bytes[chunk];
    const Crossing own = i < last ? send(member, own_size) : of_last;
    if (size > 0) {
      member.at = std::max(member.at, member.link.arrive(size, coming));
    }
    coming = own;
    size = own_size;
  }
}

}  // namespace

void pass_round_ring(std::span<RingMember> members, std::size_t floats, Seconds latency) {
  const std::size_t n = members.size();
  if (n < 2) {
    return;
  }
  const std::vector<std::size_t> bytes = chunk_bytes(floats, static_cast<int>(n));
  std::vector<Seconds> began;
  std::vector<Seconds> reduced;
  const auto note = [&](std::vector<Seconds>& moments) {
    for (const RingMember& member : members) {
      moments.push_back(member.at);
    }
  };
  note(began);
  for (std::size_t k = 0; k < n - 1; ++k) {
    pass(members, bytes, (n - k) % n, latency);
  }
  note(reduced);
  for (std::size_t k = 0; k < n - 1; ++k) {
    pass(members, bytes, (n + 1 - k) % n, latency);
  }
  for (std::size_t i = 0; i < n; ++i) {
    const Seconds gather = members[i].at - reduced[i];
    members[i].waited = std::max(0.0, (reduced[i] - began[i]) - gather);
  }
}

}  // namespace motley
