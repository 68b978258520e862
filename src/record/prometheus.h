// A run in the text format of Prometheus, version 0.0.4
// (https://prometheus.io/docs/instrumenting/exposition_formats/). Served at /metrics of the live
// page. Cost: about 400 bytes per worker.
//
//   # HELP motley_samples_total Samples trained on.
//   # TYPE motley_samples_total counter
//   motley_samples_total 60032
//
// Units are seconds, bytes and samples. Values that count from the beginning of the run end in
// _total. Unknown values are left out.
#pragma once

#include <string>
#include <string_view>

#include "record/run_figures.h"

namespace motley {

std::string prometheus_text(const RunFigures& figures);

// Escapes backslash, quote and newline in the value of a label.
std::string escape_label(std::string_view value);

// The shortest text that reads back as the same number; NaN, +Inf, -Inf.
std::string sample_value(double value);

}  // namespace motley
