// The messages between coordinator and workers, on Channel::kControl.
//
//   process                         coordinator
//     kJoin {its endpoint}     ->
//                              <-   kStart {job}
//     kClock                   ->                                 asks for the time
//                              <-   kClock {ClockInfo}
//     kReady {ReadyInfo}       ->                                 data and model are loaded
//   for each term:
//                              <-   kNextTerm {NextTermInfo}      who takes part, and from where
//                              <-   kState                        chunks, if it gets a state
//     kStateReceived           ->                                 one per chunk
//     kPrepared {TermNumber}   ->
//                              <-   kBegin {BeginInfo}            all are prepared
//     kHeartbeat, kProgress    ->                                 periodically
//                              <-   kHeartbeat                    periodically
//     kWaits {WaitInfo}        ->                                 periodically while it only waits
//     kSnapshot                ->                                 a model to evaluate
//     kAsk {why}               ->                                 asks the run to end early
//     kLeaving                 ->                                 asks to leave the run in order
//                              <-   kStop {why}                   end early, in order
//                              <-   kCut {TermNumber}             end the term, in order
//                              <-   kEvaluated {EvaluatedInfo}    what a model was found to be
//                              <-   kCounts {numbers}             sums over all workers
//     kTermEnd {TermEndInfo}   ->                                 the term is over for this process
//   if a member is lost:
//     kPeerLost {LostInfo}     ->                                 a connection between two members
//                              <-   kCutOff {CutOffInfo}          the term ends where it is
//     kSettled {SettledInfo}   ->                                 how far this process was
//   between two terms, if a connection has broken:
//                              <-   kReach {ReachInfo}            are others reached now?
//     kReached {ReachedInfo}   ->
//   between two terms, and for a checkpoint:
//                              <-   kCollect {CollectInfo}        asks for its state
//     kState                   ->                                 chunks
//                              <-   kStateReceived                one per chunk
//   at the end:
//                              <-   kNextTerm {is_over}
//     kDone {result}           ->
//                              <-   kLeave                        all are done, or it may leave
//     kFailed {reason}         ->                                 this process cannot go on
//                              <-   kAbort {reason}               the run has failed
//
// The kind of a message is its header's tag; of kState, the header also has the number of the
// request or the term. If a message cannot be decoded, its sender has failed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fabric/fabric.h"
#include "motley/node/message.h"
#include "motley/sync/task.h"
#include "motley/sync/term.h"
#include "record/run_record.h"
#include "runtime/run/outcome.h"
#include "runtime/run/snapshot_info.h"
#include "sync/loop.h"
#include "sync/survivor.h"

namespace motley {

enum class Control : std::int64_t {
  kJoin = 1,
  kStart,
  kReady,
  kBegin,
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
  kCut,
  kTermEnd,
  kNextTerm,
  kState,  // runtime/run/state_stream.h
  kStateReceived,
  kPrepared,
  kLeaving,
  kPeerLost,
  kCutOff,
  kSettled,
  kCollect,
  kReach,
  kReached,
  kEvaluated,
  kCounts,
  kDisconnected,  // within the coordinator: the connection to a process broke
};

// Time limit for sending what is still queued when a process ends.
inline constexpr double kGoodbyeSeconds = 2;

inline Control kind_of(const Message& message) { return static_cast<Control>(message.header.tag); }
inline Header header_of(Control kind) { return {.tag = static_cast<std::int64_t>(kind)}; }

// Heartbeats sent per cluster.heartbeat seconds. A process that is silent for so long is lost.
inline constexpr double kHeartbeatsPerDeadline = 5;

// When it is judged: a blip of almost one heartbeat comes on top of the interval between two signs
// of life, and of the time until another connection gets through.
inline constexpr double kSilentHeartbeats = 1.2;

// Heartbeats without a sign of life after which a connection is stuck: a blip of almost one comes
// on top of the interval between two signs.
inline constexpr double kStuckHeartbeats = 1.5;

struct JoinInfo {
  Endpoint endpoint;
};
struct StartInfo {
  std::string job;        // the run's, resolved, as job.toml
  Seconds heartbeat = 0;  // interval between heartbeats
  bool is_server = false;
};
// A member of a term.
struct MemberInfo {
  Rank process = 0;
  int id = 0;  // of a worker, or the number of a server
  Endpoint endpoint;
};
// The members of a term by rank: workers, then servers.
struct TermProcesses {
  std::vector<MemberInfo> workers;
  std::vector<MemberInfo> servers;
};
struct NextTermInfo {
  Term term;
  bool is_over = false;         // there is no next term, the run ends
  std::int64_t save = 0;        // send the state for a checkpoint, with this number
  bool begins_at_once = false;  // with the same members, each from where it is
  bool has_state = false;       // the state of this process follows
  bool keeps_random = false;    // it keeps what only its own replica understands (mean_state.h)
  bool is_first = false;        // the first term of a new run
  TermProcesses members = {};   // empty if it begins at once or the run is over
  std::vector<Rank> gone = {};  // processes that were members and are lost
  // Members whose connection to this process is made anew.
  std::vector<Rank> reconnect = {};
};
// These, and WaitInfo (runtime/run/wait_info.h), are sent as plain bytes: TermNumber, ClockInfo,
// ReadyInfo, BeginInfo, TermEndInfo, CollectInfo.
// Workers measure the offset of their clocks to the coordinator's (runtime/worker/clock_offset.h),
// so that times of any two workers can be compared.
struct TermNumber {
  std::int64_t term = 0;  // a process that is already further ignores the message
};
struct ClockInfo {
  std::int64_t now_ns = 0;  // by the coordinator's clock
};
struct ReadyInfo {
  std::int64_t training_samples = 0;  // in its data set; 0 for a server, which has none
};
struct BeginInfo {
  std::int64_t term = 0;
  std::int64_t began_ns = 0;  // the beginning of the run, by the coordinator's clock
};
struct TermEndInfo {
  std::int64_t term = 0;
  std::int64_t samples = 0;     // used by all workers, as far as this process knows
  std::int64_t bytes_sent = 0;  // since this process started
};
struct SettledInfo {
  std::int64_t term = 0;
  Survivor survivor;
  std::int64_t bytes_sent = 0;  // since this process started
  bool goes_on = false;         // false: the method cannot go on
};
struct CollectInfo {
  std::int64_t number = 0;  // of the request
  std::int64_t model = 0;   // 1: the model, 0: everything else
};
// Asks whether a process reaches others.
struct ReachInfo {
  std::int64_t number = 0;  // of the request
  Seconds patience = 0;
  std::vector<MemberInfo> others;
};
struct ReachedInfo {
  std::int64_t number = 0;
  std::vector<Rank> unreached;  // of those who were named
};
struct LostInfo {
  std::int64_t term = 0;
  Rank process = 0;
  std::string why;
};
struct ProgressInfo {
  Seconds seconds = 0;
  Progress progress;
  LossMeter loss;              // of the samples since its last report
  std::vector<double> counts;  // since its last report, if it goes at its own pace
  Activity activity;
  WorkerNews news;
};
// The result of an evaluation, for all workers.
struct EvaluatedInfo {
  std::int64_t samples = 0;  // that the model had seen
  Evaluation evaluation;
};
struct FailedInfo {
  Rank peer = kAnyRank;  // the lost peer that made it fail, if any
  std::string reason;
};
struct CutOffInfo {
  std::int64_t term = 0;
  std::string why;
};

Payload encode(const JoinInfo& info);
Payload encode(const StartInfo& info);
Payload encode(const ProgressInfo& info);
Payload encode(const SnapshotInfo& info);
Payload encode(const NextTermInfo& info);
Payload encode(const DoneInfo& info);
Payload encode(const FailedInfo& info);
Payload encode(const LostInfo& info);
Payload encode(const ReachInfo& info);
Payload encode(const ReachedInfo& info);
Payload encode(const SettledInfo& info);
Payload encode(const CutOffInfo& info);
Payload encode(const EvaluatedInfo& info);

// nullopt if the bytes are not a valid Info.
template <class Info>
std::optional<Info> decode(const Payload& payload);

}  // namespace motley
