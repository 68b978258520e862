#include "runtime/coordinator/failure_watch.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <utility>

#include "runtime/launch/first_failure.h"

namespace motley {
namespace {

constexpr Seconds kExitGrace = 1;  // from a broken connection to the exit status

}  // namespace

void FailureWatch::suspect(Rank process, const std::string& what, bool consequence, Seconds now) {
  cause_.suspect(fmt::format("{} {}", members_.describe(process), what), now, consequence);
}

// Among those who leave, some end their connections before others have heard that they may leave.
void FailureWatch::on_peer_lost(Rank process, const std::string& why, Seconds now) {
  if (!leaving_) {
    suspect(process, "failed: " + why, true, now);
  }
}

void FailureWatch::lose(Rank process, const std::string& why, Seconds now) {
  if (!members_.roster().contains(process)) {
    return;
  }
  if (elastic_) {
    lost_.emplace(process, why);
  } else {
    suspect(process, why, false, now);
  }
}

// For a process started here, its exit status or a timeout will give the reason.
void FailureWatch::on_disconnected(Rank process, const std::string& why, Seconds now) {
  if (!members_.roster().contains(process)) {
    return;
  }
  const ProcessState& state = members_.roster()[process];
  if (state.failed || state.can_leave || leaving_) {
    return;
  }
  if (state.pid != 0) {
    disconnected_.emplace(process, Disconnected{why, now});
  } else {
    lose(process, "is lost: " + why, now);
  }
}

void FailureWatch::on_exit(const ChildExit& exit, Seconds now) {
  const bool is_expected =
      !members_.roster().contains(exit.rank) || members_.roster()[exit.rank].can_leave;
  if (is_expected || (leaving_ && exit.status == 0)) {
    return;
  }
  if (WIFSIGNALED(exit.status)) {
    lose(exit.rank, describe_status(exit.status), now);
  } else {
    // It has reported its reason before.
    suspect(exit.rank, describe_status(exit.status), true, now);
  }
}

void FailureWatch::look_at_disconnected(Seconds now) {
  std::erase_if(disconnected_, [&](const auto& item) {
    const bool is_over = now - item.second.since > kExitGrace;
    if (is_over && elastic_) {
      lose(item.first, "is lost: " + item.second.why, now);
    }
    return is_over;
  });
}

void FailureWatch::look(Seconds now) {
  while (auto exit = members_.processes().poll()) {
    on_exit(*exit, now);
  }
  if (leaving_) {
    return;
  }
  look_at_disconnected(now);
  for (const Silence& silence : members_.roster().silent(now, limits_)) {
    lose(silence.process, fmt::format("gave no sign of life for {:g} s", silence.patience), now);
  }
}

std::vector<Loss> FailureWatch::take_losses(std::int64_t samples, Seconds now) {
  std::vector<Loss> losses;
  for (auto& [process, why] : std::exchange(lost_, {})) {
    disconnected_.erase(process);
    if (!members_.roster().contains(process)) {
      continue;
    }
    // Whoever was not started here comes back by itself, or does not. A newcomer disturbs nobody.
    const ProcessState& state = members_.roster()[process];
    const bool takes_part = members_.roster().is_member(process) || state.admitted;
    if (state.pid != 0 && takes_part && !state.dies_as_planned) {
      const std::string name = members_.roster().name(process);
      const auto before = lost_at_.find(name);
      if (before != lost_at_.end() && before->second == samples) {
        suspect(process, why + ", for the second time at the same step", false, now);
      }
      lost_at_[name] = samples;
    }
    losses.push_back({process, why});
  }
  return losses;
}

void FailureWatch::throw_root_cause(Seconds now) const {
  if (const auto why = cause_.verdict(now)) {
    throw RunFailed(*why);
  }
}

}  // namespace motley
