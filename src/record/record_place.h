// RecordPlace: who did something, as one number, in the record of a run. Ranks are counted anew in
// every term; the place of a worker or server lasts for the run.
#pragma once

#include "motley/base/ids.h"

namespace motley {

// A worker's id, kFirstServer + a server's id, kCoordinator, or kAnyRank: not known.
using RecordPlace = int;
inline constexpr RecordPlace kFirstServer = 1 << 16;  // the ids of workers are lower

constexpr bool is_server_place(RecordPlace place) { return place >= kFirstServer; }
constexpr RecordPlace record_place(ProcessId process) {
  return process.kind == ProcessKind::kServer ? kFirstServer + process.id : process.id;
}

}  // namespace motley
