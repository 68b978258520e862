// Reports: report.html of one run, or of several that are compared, and what it is made from.
#pragma once

#include <string>
#include <string_view>

#include "cli/commands.h"
#include "record/document.h"
#include "record/run_dir.h"
#include "record/trace.h"

namespace motley {

inline constexpr std::string_view kRecordFile = "record.json";
inline constexpr std::string_view kTraceFile = "trace.json";
inline constexpr std::string_view kReportFile = "report.html";
inline constexpr std::string_view kCompareFile = "compare.json";

// record.json, trace.json and report.html of a run that is over, however it ended.
Status write_report(const RunDir& dir, const RunRecord& record);

// report.html of a comparison: the records of its runs, overlaid.
Status write_comparison_report(const RunDir& dir, const std::string& name);

}  // namespace motley
