// What a worker does when its session in a run has ended. Pure.
//
// A run drops a worker that is silent for longer than its heartbeat: its machine was suspended, or
// its link was cut. Such a worker joins again, as a newcomer. So does one whose coordinator is
// gone: it cannot know the difference, and the run may come back from a checkpoint.
#pragma once

#include <optional>

#include "motley/base/ids.h"

namespace motley {

// How a session ended, as far as this process knows.
struct SessionEnd {
  bool let_go = false;          // it was told to leave: the run is over, or it has left
  bool told_why = false;        // it was told why: the run has failed, or refuses this process
  bool failed_here = false;     // this process has failed
  bool lost = false;            // the connection to the coordinator broke, or it was silent
  bool asked_to_leave = false;  // a notice that this process is about to be taken away
  bool trained = false;         // it has finished a step
};

// Whether a process joins again.
struct ReturnRules {
  bool may_return = true;  // the run is elastic, and nobody else starts the process again
  // A worker that comes back again and again without finishing a step gives up after so long.
  Seconds patience = 60;
};

enum class AfterSession { kIsDone, kHasFailed, kJoinsAgain };

// `idle`: since the end of the last session in which it finished a step; nullopt: it never did.
AfterSession after_session(const SessionEnd& end, const ReturnRules& rules,
                           std::optional<Seconds> idle);

}  // namespace motley
