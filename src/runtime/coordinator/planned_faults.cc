#include "runtime/coordinator/planned_faults.h"

#include <algorithm>
#include <limits>

namespace motley {

void PlannedFaults::resume(Seconds now, const std::set<int>& were_there) {
  plan_.skip_until(now);
  for (int id = 0; id < workers_; ++id) {
    came_early_.insert(id);
  }
  for (const int id : were_there) {
    if (came_early_.erase(id) == 0) {
      following_.push_back({now, PlannedFault::Action::kStart, {ProcessKind::kWorker, id}});
    }
  }
}

bool PlannedFaults::is_due(Seconds now) {
  const auto has_come = [&](const auto& each) { return each.at <= now; };
  return (plan_.peek() && has_come(*plan_.peek())) || std::ranges::any_of(following_, has_come);
}

std::optional<PlannedFault> PlannedFaults::next(Seconds now, const Present& members) {
  while (true) {
    constexpr Seconds kNever = std::numeric_limits<Seconds>::infinity();
    const auto first = std::ranges::min_element(following_, {}, &PlannedFault::at);
    const Seconds following_at = first != following_.end() ? first->at : kNever;
    const Seconds planned_at = plan_.peek() ? plan_.peek()->at : kNever;
    if (std::min(following_at, planned_at) > now) {
      return std::nullopt;
    }
    std::optional<PlannedFault> fault;
    if (planned_at <= following_at) {
      fault = take_planned(members);
    } else {
      const bool is_start = first->action == PlannedFault::Action::kStart;
      const bool is_taken = is_start && members.has(first->process);
      fault = is_taken ? std::nullopt : std::optional(*first);
      following_.erase(first);
    }
    if (fault) {
      return fault;
    }
  }
}

std::optional<PlannedFault> PlannedFaults::take_planned(const Present& members) {
  const ClusterEvent planned = *plan_.peek();
  plan_.pop();
  const bool came_early = !planned.server && came_early_.erase(planned.worker) > 0;
  if (came_early && planned.kind == EventKind::kJoins) {
    return std::nullopt;
  }
  const auto event = event_for(planned, members);
  if (!event) {
    return std::nullopt;
  }
  const ProcessId process = event->process();
  switch (event->kind) {
    case EventKind::kDies:
      if (const auto thaw = thaw_of(process); thaw != following_.end()) {
        following_.erase(thaw);
      }
      return PlannedFault{event->at, PlannedFault::Action::kKill, process};
    case EventKind::kFreezes:
      return freeze(*event);
    case EventKind::kLeaves:
      return PlannedFault{event->at, PlannedFault::Action::kAskToLeave, process};
    default:
      return PlannedFault{event->at, PlannedFault::Action::kStart, process};
  }
}

// Whoever is frozen already stays so for longer.
std::optional<PlannedFault> PlannedFaults::freeze(const ClusterEvent& event) {
  const ProcessId process = event.process();
  const Seconds until = event.at + event.seconds;
  if (const auto thaw = thaw_of(process); thaw != following_.end()) {
    thaw->at = std::max(thaw->at, until);
    return std::nullopt;
  }
  following_.push_back({until, PlannedFault::Action::kThaw, process});
  return PlannedFault{event.at, PlannedFault::Action::kFreeze, process};
}

bool PlannedFaults::lose(ProcessId process) {
  const auto thaw = thaw_of(process);
  if (thaw == following_.end()) {
    return false;
  }
  if (process.kind == ProcessKind::kServer) {
    following_.erase(thaw);
    return false;
  }
  thaw->action = PlannedFault::Action::kStart;
  return true;
}

std::vector<PlannedFault>::iterator PlannedFaults::thaw_of(ProcessId process) {
  return std::ranges::find_if(following_, [&](const PlannedFault& each) {
    return each.action == PlannedFault::Action::kThaw && each.process == process;
  });
}

}  // namespace motley
