// ControlSender: what the coordinator tells the processes of the run.
#pragma once

#include "runtime/coordinator/roster.h"
#include "runtime/run/control.h"
#include "runtime/worker/real_node.h"

namespace motley {

class ControlSender {
 public:
  // All must outlive this object.
  ControlSender(RealNode& node, Fabric& fabric, const Roster& roster)
      : node_(node), fabric_(fabric), roster_(roster) {}

  void tell(Rank process, Control kind, const Payload& payload = {}) {
    node_.send(process, Channel::kControl, header_of(kind), payload);
  }
  // All who know the job: the members of the term, and newcomers.
  void tell_all(Control kind, const Payload& payload = {}) {
    for (const auto& [process, state] : roster_.processes()) {
      if (state.introduced && !state.can_leave) {
        tell(process, kind, payload);
      }
    }
  }
  // The members of the term that are still here.
  void tell_members(Control kind, const Payload& payload = {}) {
    for (const Rank process : roster_.members()) {
      if (roster_.contains(process)) {
        tell(process, kind, payload);
      }
    }
  }
  void tell_state(Rank process, std::int64_t number, std::vector<std::byte> chunk) {
    Header header = header_of(Control::kState);
    header.a = number;
    node_.send(process, Channel::kControl, header,
               Payload::copy_of(std::span<const std::byte>(chunk)));
  }
  void tell_time(Rank process) {
    const std::chrono::nanoseconds now = Driver::Clock::now().time_since_epoch();
    tell(process, Control::kClock, Payload::of_record(ClockInfo{now.count()}));
  }
  // Lets the processes notice that their network is down. At most once per interval.
  void beat(Seconds interval) {
    if (node_.now() - beat_ > interval) {
      beat_ = node_.now();
      tell_all(Control::kHeartbeat);
      fabric_.pulse();
    }
  }
  // The clock has been restarted.
  void restart() { beat_ = node_.now(); }

 private:
  RealNode& node_;
  Fabric& fabric_;
  const Roster& roster_;
  Seconds beat_ = 0;  // time of the last heartbeat
};

}  // namespace motley
