// Merges the figures of all servers of a run for the summary: one row for each name.
#pragma once

#include <span>

#include "motley/base/figure.h"

namespace motley {

// `of_each` has the figures of each server, by rank; all servers use the same names. Numbers become
// rows with one value per server. For any other value, the first server's is kept.
Figures figures_of_servers(std::span<const Figures> of_each);

}  // namespace motley
