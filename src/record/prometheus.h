// A run as Prometheus reads it: text exposition format, version 0.0.4
// (https://prometheus.io/docs/instrumenting/exposition_formats/). Served at /metrics of the live
// page. About 400 bytes a worker.
//
//   # HELP motley_samples_total Samples trained on.
//   # TYPE motley_samples_total counter
//   motley_samples_total 60032
//
// Seconds, bytes and samples; what counts from the beginning of the run ends in _total. What is not
// known is left out.
#pragma once

#include <string>
#include <string_view>

#include "record/run_figures.h"

namespace motley {

std::string prometheus_text(const RunFigures& figures);

// A label's value between its quotes: backslash, quote and newline are escaped.
std::string escape_label(std::string_view value);

// A sample's value: shortest text that reads back as the same number; NaN, +Inf, -Inf.
std::string sample_value(double value);

}  // namespace motley
