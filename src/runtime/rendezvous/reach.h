// Whether the network carries packets between this process and others, in both directions.
#pragma once

#include <vector>

#include "fabric/fabric.h"
#include "motley/base/ids.h"

namespace motley {

// For each endpoint, whether a connection to it opens in time. Nothing is sent over it.
std::vector<bool> reachable(const std::vector<Endpoint>& endpoints, Seconds patience);

}  // namespace motley
