// ADSP (Hu, Wang, Wu, AAAI 2020): nobody ever waits. Each worker trains on and commits what it has
// accumulated when its timer says so; the timers are such that all workers have made the same
// number of commits by the end of every check period, however fast they are.
//
//   worker:       train; when a commit is due:  push U = w - W_at_last_pull;  w = W
//   server:       W += U / n
//   coordinator:  every period: how many commits earn most (commit_rate.h), told to all
//
// Cost: a push and a pull for each commit; requests for samples carry what the coordinator needs.
#pragma once

#include "motley/sync/method.h"

namespace motley {

extern const Method kAdsp;

}  // namespace motley
