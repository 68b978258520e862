// What coordinator and workers say to each other, on Channel::kControl.
//
//   worker                          coordinator
//     kJoin {where I listen}   ->
//                              <-   kStart {job, where everybody listens}
//     kClock                   ->                                            what time is it?
//                              <-   kClock {ClockInfo}
//     kReady {ReadyInfo}       ->                                            data and model loaded
//                              <-   kGo {GoInfo}                             all are; clocks start
//     kHeartbeat, kProgress    ->                                            all the time
//                              <-   kHeartbeat                               likewise
//     kSnapshot                ->                                            a model to evaluate
//     kAsk {why}               ->                                            please end early
//                              <-   kStop {why}                              end early, in order
//     kDone {result}           ->
//                              <-   kLeave                                   all are done
//     kFailed {reason}         ->                                            instead of kDone
//                              <-   kAbort {reason}                          the run fails
//
// The kind is the header's tag. A message that does not decode is the sender's failure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fabric/fabric.h"
#include "motley/node/message.h"
#include "motley/sync/task.h"
#include "record/run_record.h"
#include "runtime/run/outcome.h"
#include "runtime/run/snapshot_info.h"
#include "sync/loop.h"

namespace motley {

enum class Control : std::int64_t {
  kJoin = 1,
  kStart,
  kReady,
  kGo,
  kHeartbeat,
  kProgress,
  kSnapshot,
  kStop,
  kDone,
  kLeave,
  kFailed,
  kClock,
  kAsk,
  kAbort,
};

// To hand over what is still queued when a process ends.
inline constexpr double kGoodbyeSeconds = 2;

inline Control kind_of(const Message& message) { return static_cast<Control>(message.header.tag); }
inline Header header_of(Control kind) { return {.tag = static_cast<std::int64_t>(kind)}; }

// Who gives no sign of life for cluster.heartbeat is lost; it gives so many meanwhile.
inline constexpr double kHeartbeatsPerDeadline = 5;

struct JoinInfo {
  Endpoint endpoint;
};
struct StartInfo {
  std::string job;                  // resolved, as job.toml
  Seconds heartbeat = 0;            // between two signs of life
  std::vector<Endpoint> endpoints;  // of all workers, then of all servers
};
// These travel as they lie in memory. Workers find out how far their clocks are from the
// coordinator's (runtime/worker/clock_offset.h), so that moments of any two can be compared.
struct ClockInfo {
  std::int64_t now_ns = 0;  // by the coordinator's clock
};
struct GoInfo {
  std::int64_t began_ns = 0;  // the beginning of the run, by the coordinator's clock
};
struct ReadyInfo {
  std::int64_t training_samples = 0;  // in its data set; 0: a server, which has none
};
struct ProgressInfo {
  Seconds seconds = 0;
  Progress progress;
  LossMeter loss;  // of the samples since it last told
  Activity activity;
  WorkerNews news;
};
struct FailedInfo {
  Rank peer = kAnyRank;  // whose loss made it fail, if any
  std::string reason;
};

Payload encode(const JoinInfo& info);
Payload encode(const StartInfo& info);
Payload encode(const ProgressInfo& info);
Payload encode(const SnapshotInfo& info);
Payload encode(const DoneInfo& info);
Payload encode(const FailedInfo& info);

// nullopt when the bytes are not one of these.
template <class Info>
std::optional<Info> decode(const Payload& payload);

}  // namespace motley
