#include "sync/ring_times.h"

#include <algorithm>
#include <unordered_set>

#include "motley/node/message.h"
#include "motley/sync/collective.h"
#include "sync/shared_ring.h"

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

bool share_links(std::span<const RingMember> members) {
  std::unordered_set<std::uint32_t> seen;
  for (const RingMember& member : members) {
    for (const RingLink& link : member.edge.links) {
      if (!seen.insert(link.id).second) {
        return true;
      }
    }
  }
  return false;
}

// A ring in which every edge has its links to itself.
class LoneEdges {
 public:
  explicit LoneEdges(std::span<const RingMember> members) {
    for (const RingMember& member : members) {
      at_.push_back(member.at);
      free_.push_back(member.free);
      per_byte_.push_back(member.edge.per_byte());
      latency_.push_back(member.edge.latency);
    }
    arrives_.resize(members.size());
  }

  // One round: member i sends chunk `first` + i, then receives the one of its left neighbour.
  void pass(std::span<const double> bytes, std::size_t first) {
    const std::size_t n = at_.size();
    const std::size_t turn = n - first;  // the first members send the chunks from `first` on
    send(0, turn, bytes.subspan(first));
    send(turn, n, bytes);
    at_[0] = std::max(at_[0], arrives_[n - 1]);
    for (std::size_t i = 1; i < n; ++i) {
      at_[i] = std::max(at_[i], arrives_[i - 1]);
    }
  }

  const std::vector<Seconds>& at() const { return at_; }
  const std::vector<Seconds>& free() const { return free_; }

 private:
  void send(std::size_t begin, std::size_t end, std::span<const double> bytes) {
    for (std::size_t i = begin; i < end; ++i) {
      const double size = bytes[i - begin];
      const Seconds left = std::max(at_[i], free_[i]) + size * per_byte_[i];
      free_[i] = size > 0 ? left : free_[i];
      arrives_[i] = size > 0 ? left + latency_[i] : 0;
    }
  }

  std::vector<Seconds> at_;
  std::vector<Seconds> free_;  // when the edge to the right has sent everything
  std::vector<Seconds> per_byte_;
  std::vector<Seconds> latency_;
  std::vector<Seconds> arrives_;  // at the right neighbour, in this round
};

void pass_lone_edges(std::span<RingMember> members, std::span<const std::size_t> chunks) {
  const std::size_t n = members.size();
  const std::vector<double> bytes(chunks.begin(), chunks.end());
  LoneEdges ring(members);
  for (std::size_t k = 0; k < n - 1; ++k) {
    ring.pass(bytes, (n - k) % n);
  }
  const std::vector<Seconds> reduced = ring.at();
  for (std::size_t k = 0; k < n - 1; ++k) {
    ring.pass(bytes, (n + 1 - k) % n);
  }
  for (std::size_t i = 0; i < n; ++i) {
    members[i].finish(reduced[i], ring.at()[i], ring.free()[i]);
  }
}

}  // namespace

Seconds RingEdge::per_byte() const {
  Seconds slowest = 0;
  for (const RingLink& link : links) {
    slowest = std::max(slowest, 1 / link.capacity);
  }
  return slowest;
}

// No sum is complete before the last member has arrived, so the second half never waits for one
// (Collective::ring).
void RingMember::finish(Seconds reduced, Seconds gathered, Seconds edge_free) {
  waited = std::max(0.0, (reduced - at) - (gathered - reduced));
  at = gathered;
  free = edge_free;
}

void pass_round_ring(std::span<RingMember> members, std::size_t floats) {
  const std::size_t n = members.size();
  if (n < 2) {
    return;
  }
  const std::vector<std::size_t> chunks = chunk_bytes(floats, static_cast<int>(n));
  std::size_t all = 0;
  for (const std::size_t bytes : chunks) {
    all += bytes;
  }
  for (std::size_t i = 0; i < n; ++i) {
    // It sends all chunks but one in either half.
    members[i].bytes = 2 * all - chunks[(i + 1) % n] - chunks[(i + 2) % n];
  }
  if (share_links(members)) {
    pass_shared_edges(members, chunks);
  } else {
    pass_lone_edges(members, chunks);
  }
}

}  // namespace motley
