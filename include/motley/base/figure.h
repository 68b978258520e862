// Figure: a number with a name, a row of them, or a reason. What a method has to say of a run
// beyond what every method says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace motley {

// Nothing: it is not known, or there is none.
using FigureValue = std::variant<std::monostate, std::int64_t, double, std::vector<std::int64_t>,
                                 std::vector<double>, std::string>;

struct Figure {
  std::string name;  // as in summary.json: "mean_group_size"
  FigureValue value;
};

using Figures = std::vector<Figure>;  // in the order in which they are shown

template <class Number>
FigureValue figure_of(std::optional<Number> number) {
  return number ? FigureValue(*number) : FigureValue();
}

}  // namespace motley
