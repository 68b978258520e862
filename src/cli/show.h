// Prints the summary of a run on stdout, for people.
#pragma once

#include <string>

#include "record/summary.h"

namespace motley {

void show(const Summary& summary, const std::string& directory);

}  // namespace motley
