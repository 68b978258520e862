// Present: who takes part in a run at a moment, and what an event of the job means then. Simulated
// and real runs share this. Pure.
#pragma once

#include <optional>
#include <span>

#include "motley/cluster/spec.h"
#include "runtime/run/membership.h"

namespace motley {

struct Present {
  Present(const Membership& its_workers, std::span<const int> its_servers = {})
      : workers(its_workers), servers(its_servers) {}
  bool has(ProcessId process) const;

  const Membership& workers;
  std::span<const int> servers;  // ids, ascending
};

// The event with the worker or server that it concerns: one that joins under an id that is taken
// gets the lowest free one. nullopt: nobody who is there, so nothing happens.
std::optional<ClusterEvent> event_for(ClusterEvent event, const Present& members);

}  // namespace motley
