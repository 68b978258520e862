// The messages of a link probe (runtime/calibrate/link_probe.h), all on one channel, so that a rank
// with one activity can answer the others while it waits.
//
//   coordinator                rank                          other ranks
//     kOrder {ProbeOrder}  ->
//                                kPushed, kPushed ...  ->                    if it pushes: in
//                                pieces,
//                                                      <-    kReceived ...   each of which is
//                                                      answered
//                                kPull {bytes}         ->                    if it pulls
//                                                      <-    kPulled ...
//                          <-    the Arrivals
//     kProcess             ->                                                Node::process()
//                          <-    how long it took, as Arrivals
//     kEnd                 ->                          ->                    to all
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
  kPushed,    // a piece of a transfer, to be answered
  kReceived,  // header.a bytes have arrived
  kPull,      // send me header.a bytes
  kPulled,    // a piece of them
  kProcess,   // add numbers, header.a times
  kEnd,
};

inline ProbeKind probe_kind(const Message& message) {
  return static_cast<ProbeKind>(message.header.tag);
}
inline Header probe_header(ProbeKind kind, std::int64_t a = 0) {
  return {.tag = static_cast<std::int64_t>(kind), .a = a};
}

// Exchange bytes with all of these ranks at once, and that several times, one after the other.
struct ProbeOrder {
  bool pull = false;  // they send the bytes
  std::int64_t repeats = 1;
  std::vector<Rank> peers;
  std::vector<std::int64_t> bytes;  // one number per peer
};

// The pieces that have arrived, by the clock of the rank that was ordered: at its end if it pulls,
// and at the other if it pushes, as far as it knows by then.
struct ProbeArrivals {
  std::vector<Seconds> at;  // since the beginning of the exchange
  std::vector<std::int64_t> bytes;
  std::vector<Rank> with;  // the other rank
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

inline Payload encode_arrivals(const ProbeArrivals& arrivals) {
  ByteWriter writer;
  writer.put_numbers(std::span<const Seconds>(arrivals.at));
  writer.put_numbers(std::span<const std::int64_t>(arrivals.bytes));
  writer.put_numbers(std::span<const Rank>(arrivals.with));
  return Payload::copy_of(writer.bytes());
}

// Throws std::runtime_error if the bytes are not arrivals.
inline ProbeArrivals decode_arrivals(const Payload& payload) {
  ByteReader reader(payload.bytes());
  ProbeArrivals arrivals;
  arrivals.at = reader.get_numbers<Seconds>();
  arrivals.bytes = reader.get_numbers<std::int64_t>();
  arrivals.with = reader.get_numbers<Rank>();
  if (!reader.complete() || arrivals.at.empty() || arrivals.at.size() != arrivals.bytes.size() ||
      arrivals.at.size() != arrivals.with.size()) {
    throw std::runtime_error("a worker's report is damaged");
  }
  return arrivals;
}

}  // namespace motley
