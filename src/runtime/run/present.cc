#include "runtime/run/present.h"

#include <algorithm>

namespace motley {

bool Present::has(ProcessId process) const {
  return process.kind == ProcessKind::kWorker ? workers.has(process.id)
                                              : std::ranges::binary_search(servers, process.id);
}

std::optional<ClusterEvent> event_for(ClusterEvent event, const Present& members) {
  const bool is_there = members.has(event.process());
  if (event.kind == EventKind::kJoins) {
    event.worker = is_there ? members.workers.lowest_free() : event.worker;
    return event;
  }
  return is_there ? std::optional(event) : std::nullopt;
}

}  // namespace motley
