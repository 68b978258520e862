// RootCause: finds the cause among the failures reported when a run fails. Pure: time is passed in.
//
//   cause.suspect("worker 2 (pid 77) failed: worker 1 is gone", now, true);
//   cause.suspect("worker 1 (pid 76) was killed by signal 9", now, false);
//   if (const auto why = cause.verdict(now)) { throw RunFailed(*why); }
//
// A cause is reported at once. A failure that may be the consequence of another one is held back
// for kGrace, because its cause may be reported after it. Among several causes, or several
// consequences, the first counts.
#pragma once

#include <optional>
#include <string>

#include "motley/base/ids.h"

namespace motley {

class RootCause {
 public:
  static constexpr Seconds kGrace = 1;

  void suspect(std::string what, Seconds now, bool consequence) {
    if (!suspicion_ || (suspicion_->consequence && !consequence)) {
      suspicion_ = {std::move(what), now, consequence};
    }
  }

  std::optional<std::string> verdict(Seconds now) const {
    const bool is_sure =
        suspicion_ && (!suspicion_->consequence || now > suspicion_->since + kGrace);
    return is_sure ? std::optional(suspicion_->what) : std::nullopt;
  }

 private:
  struct Suspicion {
    std::string what;
    Seconds since = 0;
    bool consequence = false;
  };
  std::optional<Suspicion> suspicion_;
};

}  // namespace motley
