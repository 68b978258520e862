// The summary of a run, for a person, on stdout.
#pragma once

#include <string>

#include "record/summary.h"

namespace motley {

void show(const Summary& summary, const std::string& directory);

}  // namespace motley
