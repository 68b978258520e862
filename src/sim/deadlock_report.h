// What a deadlock's message says: who waits for what.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "motley/node/message.h"

namespace motley {

// An activity that cannot go on.
struct BlockedActivity {
  Rank rank = 0;
  std::string name;            // empty for the first activity of a rank
  std::optional<Match> match;  // what it waits for; nullopt: it sleeps forever
};

std::string deadlock_report(Seconds now, const std::vector<BlockedActivity>& blocked);

}  // namespace motley
