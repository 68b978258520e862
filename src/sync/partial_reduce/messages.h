// The messages between workers and controller, on kGroupChannel.
//
//   worker                    coordinator
//     ready {...}        ->                       an iteration is done; a request for samples
//                        <-   GroupNews           the members of its group, and its next samples
//
// On the same channel the members of a group exchange their models (motley/sync/collective.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "motley/node/message.h"
#include "motley/sync/dealt_samples.h"

namespace motley {

inline constexpr Channel kGroupChannel = method_channel(0);

// A worker has done an iteration and waits for a group. The signal includes its request for
// samples (motley/sync/dealt_samples.h) and fits into the header.
struct ReadySignal {
  std::int64_t iteration = 0;
  std::int64_t samples = 0;  // in this iteration
  std::int64_t want = 0;     // samples wanted for the next iteration

  Header header() const { return {iteration, samples, want}; }
  static ReadySignal of(const Header& header) { return {header.tag, header.a, header.b}; }
};

// Tells one member about its group.
struct GroupNews {
  std::vector<Rank> members;   // empty for all workers
  float weight = 0;            // of this member's model
  std::int64_t iteration = 0;  // the iteration number from which this member continues
  Grant grant;                 // its next samples; empty if the run is over

  Payload payload() const {
    ByteWriter bytes;
    bytes.put_numbers(std::span(members));
    bytes.put(weight);
    bytes.put(iteration);
    bytes.put(grant.next.epoch);
    bytes.put(grant.next.begin);
    bytes.put(grant.next.count);
    bytes.put(grant.used);
    bytes.put(grant.evaluation);
    return Payload::copy_of(std::span(bytes.bytes()));
  }

  // nullopt if the bytes are not a valid message.
  static std::optional<GroupNews> of(const Payload& payload) {
    ByteReader bytes(payload.bytes());
    GroupNews news;
    news.members = bytes.get_numbers<Rank>();
    news.weight = bytes.get<float>();
    news.iteration = bytes.get<std::int64_t>();
    news.grant.next.epoch = bytes.get<std::int64_t>();
    news.grant.next.begin = bytes.get<std::int64_t>();
    news.grant.next.count = bytes.get<std::int64_t>();
    news.grant.used = bytes.get<std::int64_t>();
    news.grant.evaluation = bytes.get<std::int64_t>();
    return bytes.complete() ? std::optional(std::move(news)) : std::nullopt;
  }
};

}  // namespace motley
