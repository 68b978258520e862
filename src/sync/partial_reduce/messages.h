// What workers and controller say to each other, on kGroupChannel.
//
//   worker                    coordinator
//     ready {...}        ->                       done, and a request for samples
//                        <-   GroupNews           with whom to average, what to compute next
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

// A worker has done an iteration and waits for a group. The signal carries its request for samples
// (sync/dealt_samples.h), and travels in the header alone.
struct ReadySignal {
  std::int64_t iteration = 0;
  std::int64_t samples = 0;  // that it took
  std::int64_t want = 0;     // samples for the next one

  Header header() const { return {iteration, samples, want}; }
  static ReadySignal of(const Header& header) { return {header.tag, header.a, header.b}; }
};

// One member's group.
struct GroupNews {
  std::vector<Rank> members;   // none: everybody
  float weight = 0;            // of this member's model
  std::int64_t iteration = 0;  // that this member has done now
  Grant grant;                 // what it computes next; no samples: the run is over

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

  // nullopt when the bytes are none.
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
