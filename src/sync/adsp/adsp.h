// ADSP (Hu, Wang, Wu, AAAI 2020): no worker ever waits. Each worker trains continuously and commits
// its accumulated changes when its timer expires. The timers are set so that all workers, whatever
// their speed, have made the same number of commits by the end of every check period.
//
//   worker:       train; when a commit is due:  push U = w - W_at_last_pull;  w = W
//   server:       W += U / n
//   coordinator:  every period, searches for the best number of commits (commit_rate.h)
//
// Cost: a push and a pull per commit. The requests for samples carry everything that the
// coordinator needs, so there are no other messages from workers.
#pragma once

#include "motley/sync/method.h"

namespace motley {

extern const Method kAdsp;

}  // namespace motley
