// The messages between coordinator and workers, on Channel::kControl.
//
//   worker                          coordinator
//     kJoin {my endpoint}      ->
//                              <-   kStart {job, all endpoints}
//     kClock                   ->                                 asks for the time
//                              <-   kClock {ClockInfo}
//     kReady {ReadyInfo}       ->                                 data and model are loaded
//                              <-   kGo {GoInfo}                  all are ready; clocks start
//     kHeartbeat, kProgress    ->                                 periodically
//                              <-   kHeartbeat                    periodically
//     kWaits {WaitInfo}        ->                                 periodically while it only waits
//     kSnapshot                ->                                 a model to evaluate
//     kAsk {why}               ->                                 asks the run to end early
//                              <-   kStop {why}                   end early, in order
//     kDone {result}           ->
//                              <-   kLeave                        all are done
//     kFailed {reason}         ->                                 instead of kDone
//                              <-   kAbort {reason}               the run has failed
//
// The kind of a message is its header's tag. If a message cannot be decoded, its sender has failed.
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
  kWaits,
};

// Time limit for sending what is still queued when a process ends.
inline constexpr double kGoodbyeSeconds = 2;

inline Control kind_of(const Message& message) { return static_cast<Control>(message.header.tag); }
inline Header header_of(Control kind) { return {.tag = static_cast<std::int64_t>(kind)}; }

// Heartbeats sent per cluster.heartbeat seconds. A process that is silent for so long is lost.
inline constexpr double kHeartbeatsPerDeadline = 5;

struct JoinInfo {
  Endpoint endpoint;
};
struct StartInfo {
  std::string job;                  // resolved, as job.toml
  Seconds heartbeat = 0;            // interval between heartbeats
  std::vector<Endpoint> endpoints;  // of all workers, then of all servers
};
// ClockInfo, GoInfo, ReadyInfo and WaitInfo (runtime/run/wait_info.h) are sent as plain bytes.
// Workers measure the offset of their clocks to the coordinator's (runtime/worker/clock_offset.h),
// so that times of any two workers can be compared.
struct ClockInfo {
  std::int64_t now_ns = 0;  // by the coordinator's clock
};
struct GoInfo {
  std::int64_t began_ns = 0;  // the beginning of the run, by the coordinator's clock
};
struct ReadyInfo {
  std::int64_t training_samples = 0;  // in its data set; 0 for a server, which has none
};
struct ProgressInfo {
  Seconds seconds = 0;
  Progress progress;
  LossMeter loss;  // of the samples since its last report
  Activity activity;
  WorkerNews news;
};
struct FailedInfo {
  Rank peer = kAnyRank;  // the lost peer that made it fail, if any
  std::string reason;
};

Payload encode(const JoinInfo& info);
Payload encode(const StartInfo& info);
Payload encode(const ProgressInfo& info);
Payload encode(const SnapshotInfo& info);
Payload encode(const DoneInfo& info);
Payload encode(const FailedInfo& info);

// nullopt if the bytes are not a valid Info.
template <class Info>
std::optional<Info> decode(const Payload& payload);

}  // namespace motley
