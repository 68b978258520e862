// Figure: a number with a name. What a method has to say of a run beyond what every method says.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace motley {

struct Figure {
  std::string name;  // as in summary.json: "mean_group_size"
  std::variant<std::monostate, std::int64_t, double> value;  // nothing: it is not known
};

using Figures = std::vector<Figure>;  // in the order in which they are shown

}  // namespace motley
