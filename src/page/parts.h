// The page's files as text. The build generates parts.cc from them (cmake/embed.cmake).
#pragma once

#include <string_view>

namespace motley {

extern const std::string_view kTemplate;     // page.html
extern const std::string_view kStyle;        // page.css
extern const std::string_view kChartScript;  // Chart.js, as Debian packages it
extern const std::string_view kPageScript;   // *.js of this folder

}  // namespace motley
