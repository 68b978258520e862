// Prints the summary of a run on stdout, for people.
#pragma once

#include <filesystem>
#include <string>

#include "record/summary.h"

namespace motley {

void show(const Summary& summary, const std::filesystem::path& directory);

// "saved in DIR, report: DIR/report.html"; without the report if there is none.
std::string where_saved(const std::filesystem::path& directory);

}  // namespace motley
