// What the job wants to happen to the processes that were started here.
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>

#include "runtime/coordinator/coordinator_impl.h"

namespace motley {
namespace {

bool is_started_here(const ProcessState& state) {
  return state.pid != 0 && state.id >= 0 && !state.can_leave;
}

}  // namespace

// Everything whose time has come. A process that is about to join counts as there: what happens to
// its worker happens to it.
void Coordinator::Impl::look_at_faults(Seconds now) {
  while (began_ns_ != 0 && !failures_.expects_exits() && faults_.is_due(now)) {
    Membership workers = membership_;
    Membership servers = server_membership_;
    for (const auto& [process, state] : roster_.processes()) {
      Membership& kind = state.is_server ? servers : workers;
      if (is_started_here(state) && !kind.has(state.id)) {
        kind.join(state.id, now, "");
      }
    }
    if (const auto fault = faults_.next(now, {workers, servers.ids()})) {
      carry_out(*fault);
    }
  }
}

// Of those who are to be this worker or server, the one that takes part; otherwise the one that is
// about to join.
std::optional<Rank> Coordinator::Impl::process_to_strike(ProcessId id) const {
  if (const auto member = roster_.taking_part(id)) {
    return is_started_here(roster_[*member]) ? member : std::nullopt;
  }
  const auto found = std::ranges::find_if(roster_.processes(), [&](const auto& item) {
    return is_started_here(item.second) && id_of(item.second) == id;
  });
  return found == roster_.processes().end() ? std::nullopt : std::optional(found->first);
}

void Coordinator::Impl::carry_out(const PlannedFault& fault) {
  const std::string as_planned = fmt::format("as planned for {:g} s", fault.at);
  if (fault.action == PlannedFault::Action::kStart) {
    if (!logic_.stopped()) {
      decide(fmt::format("worker {} is started", fault.process.id), as_planned);
      members_.start_newcomer(fault.process, node_.now());
    }
    return;
  }
  const auto process = process_to_strike(fault.process);
  if (!process) {
    return;  // it is about to go
  }
  const std::string name = members_.describe(*process);
  switch (fault.action) {
    case PlannedFault::Action::kFreeze:
      decide(name + " is frozen", as_planned);
      processes_.signal(*process, SIGSTOP);
      return;
    case PlannedFault::Action::kThaw:
      decide(name + " thaws", as_planned);
      processes_.signal(*process, SIGCONT);
      return;
    case PlannedFault::Action::kAskToLeave:
      decide(name + " is asked to leave", as_planned);
      roster_[*process].wants_to_leave = true;
      return;
    default:  // at once, so that it is gone for what comes next
      roster_[*process].dies_as_planned = true;
      processes_.kill(*process);
      failures_.lose(*process, fmt::format("was killed {}", as_planned), node_.now());
      look_at_losses();
      return;
  }
}

// The run's time so far. What was to happen until then has happened, so that a run that goes on
// from here does not repeat it.
void Coordinator::Impl::note_time() {
  position_.seconds = node_.now();
  look_at_faults(position_.seconds);
}

}  // namespace motley
