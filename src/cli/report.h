// Writes report.html for one run or for several that are compared.
#pragma once

#include <string>
#include <string_view>

#include "cli/commands.h"
#include "record/document.h"
#include "record/run_dir.h"
#include "session/recorded_run.h"

namespace motley {

inline constexpr std::string_view kCompareFile = "compare.json";

// Writes report.html for a comparison: the records of its runs, overlaid.
Status write_comparison_report(const RunDir& dir, const std::string& name);

}  // namespace motley
