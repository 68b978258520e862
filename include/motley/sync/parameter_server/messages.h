// The messages between workers and parameter servers, on Channel::kServer.
//
//   worker                              server
//     begin {how many numbers}     ->                      from worker 0: the first parameters
//     commit {step, weight, ...}   ->
//                                  <-   ServerAnswer         the parameters, after the commit is
//                                  applied
//                                  <-   note                 if the method's gate has one
//     measured commit {...}        ->
//                                  <-   received             so that push and pull are timed apart
//     pull                         ->
//                                  <-   ServerAnswer, note
//     leave                        ->
//                                  <-   ServerAnswer         the parameters, when all have left
#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include "motley/base/ids.h"
#include "motley/node/message.h"

namespace motley {

enum class ServerKind : std::int64_t { kBegin, kCommit, kMeasuredCommit, kPull, kLeave };

inline Header header_of(ServerKind kind) { return {static_cast<std::int64_t>(kind)}; }

// The worker that sends the first parameters.
inline constexpr Rank kFirstWorker = 0;

// What a server holds: numbers that are sent in the job's codec, followed by numbers that are sent
// as floats. The payload has the first values; zeros if it is empty.
struct BeginHeader {
  std::int64_t coded = 0;
  std::int64_t plain = 0;

  Header header() const { return {static_cast<std::int64_t>(ServerKind::kBegin), coded, plain}; }
  static BeginHeader of(const Header& header) { return {header.a, header.b}; }
};

// Asks a server to add a worker's change, multiplied by `weight`.
struct CommitHeader {
  std::optional<std::int64_t> step;  // its number under the staleness bound; nullopt: not bounded
  double weight = 1;
  bool measured = false;  // the server confirms when it has received the commit

  Header header() const {
    const ServerKind kind = measured ? ServerKind::kMeasuredCommit : ServerKind::kCommit;
    return {static_cast<std::int64_t>(kind), step.value_or(kUnbounded),
            std::bit_cast<std::int64_t>(weight)};
  }
  static CommitHeader of(const Header& header) {
    CommitHeader commit;
    commit.step = header.a == kUnbounded ? std::nullopt : std::optional(header.a);
    commit.weight = std::bit_cast<double>(header.b);
    commit.measured = header.tag == static_cast<std::int64_t>(ServerKind::kMeasuredCommit);
    return commit;
  }

 private:
  static constexpr std::int64_t kUnbounded = -1;
};

// Sent with the parameters, in the header: for a phantom the payload has no bytes to carry it.
struct ServerAnswer {
  std::int64_t staleness = 0;  // commits of others between this worker's last answer and its commit
  Seconds held = 0;            // how long the commit waited for slower workers
  std::int64_t version = 0;    // of the values: commits that the server had applied to them
  bool has_note = false;       // the gate's note (commit_gate.h) follows in the next message

  Header header() const {
    return {staleness, std::bit_cast<std::int64_t>(held), version * 2 + (has_note ? 1 : 0)};
  }
  static ServerAnswer of(const Header& header) {
    return {.staleness = header.tag,
            .held = std::bit_cast<Seconds>(header.a),
            .version = header.b / 2,
            .has_note = header.b % 2 != 0};
  }
};

}  // namespace motley
