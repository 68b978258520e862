// The figures of all servers of a run, as the summary shows them: one row for each name.
#pragma once

#include <span>

#include "motley/base/figure.h"

namespace motley {

// `of_each` has what each server returned, in the order of their ranks; all give the same names.
// Numbers become rows with one value for every server. Of anything else the first server's stands.
Figures figures_of_servers(std::span<const Figures> of_each);

}  // namespace motley
