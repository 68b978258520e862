// What workers and parameter servers say to each other, on Channel::kServer.
//
//   worker                              server
//     begin {how many numbers}     ->                      from worker 0: what there is to hold
//     commit {step, weight, ...}   ->
//                                  <-   ServerAnswer         the parameters, once it is applied
//                                  <-   note                 if the method's gate has one
//     measured commit {...}        ->
//                                  <-   received             tells its push from its pull
//     pull                         ->
//                                  <-   ServerAnswer, note
//     leave                        ->
//                                  <-   ServerAnswer         the parameters when all have left
#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include "motley/base/ids.h"
#include "motley/node/message.h"

namespace motley {

enum class ServerKind : std::int64_t { kBegin, kCommit, kMeasuredCommit, kPull, kLeave };

inline Header header_of(ServerKind kind) { return {static_cast<std::int64_t>(kind)}; }

// Of whom the first parameters come.
inline constexpr Rank kFirstWorker = 0;

// What a server is to hold: numbers that travel in the job's codec, and behind them some that
// travel as they are. The payload is what it begins with; none: zeros.
struct BeginHeader {
  std::int64_t coded = 0;
  std::int64_t plain = 0;

  Header header() const { return {static_cast<std::int64_t>(ServerKind::kBegin), coded, plain}; }
  static BeginHeader of(const Header& header) { return {header.a, header.b}; }
};

// What a worker has changed, times `weight`, is to be added.
struct CommitHeader {
  std::optional<std::int64_t> step;  // its count under the staleness bound; none: not bounded
  double weight = 1;
  bool measured = false;  // wants to know when it was received

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

// What comes back with the parameters. It travels in the place of the header: the parameters of a
// phantom have no bytes that it could be among.
struct ServerAnswer {
  std::int64_t staleness = 0;  // commits of others between this worker's last answer and its commit
  Seconds held = 0;            // how long the answer waited for slower workers
  std::int64_t has_note = 0;   // 1: the gate's note (commit_gate.h) follows in a message of its own

  Header header() const { return std::bit_cast<Header>(*this); }
  static ServerAnswer of(const Header& header) { return std::bit_cast<ServerAnswer>(header); }
};

}  // namespace motley
