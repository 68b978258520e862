// The page of a run: charts, tables and the job, in one self-contained file.
//
//   write_plainly(dir / "report.html", report_page({document}, "fashion"));
//
// A document is what src/record makes of a run (record.json); the page shows nothing else. The live
// page is the same page: there, documents arrive as server-sent events, each complete, so a browser
// may join at any time.
//
// Names, job files and reasons are untrusted text. They are embedded as JSON that cannot end a
// script element and become text nodes, never markup. The page's Content-Security-Policy allows
// only its own scripts and style, by hash, and no requests to other hosts.
//
// Cost: 250 KB besides the documents, most of it Chart.js.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace motley {

// A self-contained page of these run documents; several are overlaid and compared in a table.
std::string report_page(const std::vector<nlohmann::ordered_json>& runs, std::string_view title);

// The page that follows a run: the same without data. It reads `events` from the server it came
// from (server-sent events; each `data:` is one whole run document as JSON in one line).
std::string live_page(std::string_view title);

}  // namespace motley
