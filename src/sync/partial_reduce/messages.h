// What workers and controller say to each other, on Channel::kPartialReduce.
//
//   worker                    coordinator
//     ready {...}        ->
//                        <-   GroupNews           with whom to average, what to compute next
//
// On the same channel the members of a group exchange their models (motley/sync/collective.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "motley/allocate/ledger.h"
#include "motley/node/message.h"

namespace motley {

// A worker has done an iteration and waits for a group. Travels in the header alone.
struct ReadySignal {
  std::int64_t iteration = 0;
  std::int64_t samples = 0;  // that it took
  std::int64_t want = 0;     // samples for the next one

  Header header() const { return {iteration, samples, want}; }
  static ReadySignal of(const Header& header) { return {header.tag, header.a, header.b}; }
};

// One member's group.
struct GroupNews {
  std::vector<Rank> members;    // none: everybody
  float weight = 0;             // of this member's model
  std::int64_t iteration = 0;   // that this member has done now
  StepSamples next;             // what it computes next; no samples: the run is over
  std::int64_t used = 0;        // samples, by all workers so far
  std::int64_t evaluation = 0;  // that this member's model is a part of; 0: none

  Payload payload() const {
    ByteWriter bytes;
    bytes.put_numbers(std::span(members));
    bytes.put(weight);
    bytes.put(iteration);
    bytes.put(next.epoch);
    bytes.put(next.begin);
    bytes.put(next.count);
    bytes.put(used);
    bytes.put(evaluation);
    return Payload::copy_of(std::span(bytes.bytes()));
  }

  // nullopt when the bytes are none.
  static std::optional<GroupNews> of(const Payload& payload) {
    ByteReader bytes(payload.bytes());
    GroupNews news;
    news.members = bytes.get_numbers<Rank>();
    news.weight = bytes.get<float>();
    news.iteration = bytes.get<std::int64_t>();
    news.next.epoch = bytes.get<std::int64_t>();
    news.next.begin = bytes.get<std::int64_t>();
    news.next.count = bytes.get<std::int64_t>();
    news.used = bytes.get<std::int64_t>();
    news.evaluation = bytes.get<std::int64_t>();
    return bytes.complete() ? std::optional(std::move(news)) : std::nullopt;
  }
};

}  // namespace motley
