// Numbers as JSON allows them: NaN and infinity become null.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "motley/base/figure.h"

namespace motley {

nlohmann::ordered_json number(double value);
nlohmann::ordered_json number(std::optional<double> value);
// Rounded to four digits, which is more than a chart shows.
nlohmann::ordered_json brief_number(double value);

nlohmann::ordered_json figures_to_json(const Figures& figures);

}  // namespace motley
