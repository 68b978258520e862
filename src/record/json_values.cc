#include "record/json_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>

namespace motley {

using Json = nlohmann::ordered_json;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json number(std::optional<double> value) { return value ? number(*value) : Json(nullptr); }

Json brief_number(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e6) {
    return static_cast<std::int64_t>(value);
  }
  return number(std::strtod(fmt::format("{:.4g}", value).c_str(), nullptr));
}

Json figures_to_json(const Figures& figures) {
  Json json = Json::object();
  for (const Figure& figure : figures) {
    json[figure.name] = std::visit(
        []<class Value>(const Value& value) {
          if constexpr (std::is_same_v<Value, std::monostate>) {
            return Json(nullptr);
          } else if constexpr (std::is_same_v<Value, double>) {
            return number(value);
          } else if constexpr (std::is_same_v<Value, std::vector<double>>) {
            Json row = Json::array();
            std::ranges::transform(value, std::back_inserter(row),
                                   [](double each) { return number(each); });
            return row;
          } else {
            return Json(value);
          }
        },
        figure.value);
  }
  return json;
}

}  // namespace motley
