// The messages of a link probe (runtime/calibrate/link_probe.h), all on one channel, so that a rank
// with one activity can answer the others while it waits.
//
//   coordinator                rank                          other ranks
//     kOrder {ProbeOrder}  ->
//                                kPiece ... kRequest      ->                 the bytes, if it
//                                pushes
//                                                         <-  kPiece ... kReply     if it pulls
//                          <-    the seconds of each repeat
//     kEnd                 ->                             ->                 to all
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "base/bytes.h"
#include "motley/node/message.h"

namespace motley {

inline constexpr Channel kProbeChannel = method_channel(0);

enum class ProbeKind : std::int64_t {
  kOrder = 1,
  kPiece,    // part of a transfer
  kRequest,  // the last part; header.a is the number of bytes to answer with
  kReply,    // the last part of an answer
  kEnd,
};

inline ProbeKind probe_kind(const Message& message) {
  return static_cast<ProbeKind>(message.header.tag);
}

// Exchange bytes with all of these ranks at once, and that several times, one after the other.
struct ProbeOrder {
  bool pull = false;  // they send the bytes
  std::int64_t repeats = 1;
  std::vector<Rank> peers;
  std::vector<std::int64_t> bytes;  // one number per peer
};

inline Payload encode_order(const ProbeOrder& order) {
  ByteWriter writer;
  writer.put(order.pull);
  writer.put(order.repeats);
  writer.put_numbers(std::span<const Rank>(order.peers));
  writer.put_numbers(std::span<const std::int64_t>(order.bytes));
  return Payload::copy_of(writer.bytes());
}

// Throws std::runtime_error if the bytes are not an order.
inline ProbeOrder decode_order(const Payload& payload) {
  ByteReader reader(payload.bytes());
  ProbeOrder order;
  order.pull = reader.get<bool>();
  order.repeats = reader.get<std::int64_t>();
  order.peers = reader.get_numbers<Rank>();
  order.bytes = reader.get_numbers<std::int64_t>();
  if (!reader.complete() || order.peers.empty() || order.peers.size() != order.bytes.size()) {
    throw std::runtime_error("the coordinator's order is damaged");
  }
  return order;
}

inline Payload encode_seconds(const std::vector<Seconds>& seconds) {
  ByteWriter writer;
  writer.put_numbers(std::span<const Seconds>(seconds));
  return Payload::copy_of(writer.bytes());
}

inline std::vector<Seconds> decode_seconds(const Payload& payload) {
  ByteReader reader(payload.bytes());
  auto seconds = reader.get_numbers<Seconds>();
  if (!reader.complete() || seconds.empty()) {
    throw std::runtime_error("a worker's report is damaged");
  }
  return seconds;
}

}  // namespace motley
