// A run as a trace in Chrome's format, for Perfetto (ui.perfetto.dev) and chrome://tracing: one
// process per worker with its spans, the coordinator's evaluations and decisions, and an arrow for
// each message received. Times are microseconds since the run began, on clocks aligned to the
// coordinator's.
#pragma once

#include <string>

#include "record/run_record.h"

namespace motley {

std::string trace_of(const RunRecord& record);

}  // namespace motley
