// What this process says to `motley launch` about its own loss (runtime/launch/lost_ranks.h).
#pragma once

#include "runtime/launch/lost_ranks.h"

namespace motley {

// Without a launcher that wants to know: does nothing.
void tell_launcher(const ElasticNote& note);

}  // namespace motley
