// JSON from a file that may be damaged or foreign.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.h"

namespace motley {

// Refuses what is not JSON, two entries of one name, and more than 100 levels. Memory: a small
// multiple of the text.
Result<nlohmann::json> parse_strictly(std::string_view text);

}  // namespace motley
