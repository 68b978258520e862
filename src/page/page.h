// The page of a run: charts, tables and what was run, in one file that needs nothing else.
//
//   write_plainly(dir / "report.html", report_page({document}, "fashion"));
//
// A document is what src/record makes of a run (record.json); the page draws it and nothing else.
// It is the same page live: there the documents come as server-sent events, each of them whole, so
// that it does not matter when a browser joins.
//
// Names, job files and reasons are other people's text. They travel as JSON in which nothing can
// end a script element, become text nodes and never markup, and the page's policy (a
// Content-Security-Policy with the hashes of its own scripts and style) runs no other script and
// asks no other host for anything.
//
// Cost: 250 KB besides the documents, most of it Chart.js.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace motley {

// One self-contained page. `runs`: documents; several are overlaid and compared in a table.
std::string report_page(const std::vector<nlohmann::ordered_json>& runs, std::string_view title);

// The page that follows a run: the same, without data; it asks `events` (server-sent events, each
// `data:` one whole run document as JSON in one line) of where it came from.
std::string live_page(std::string_view title);

}  // namespace motley
