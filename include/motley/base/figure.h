// Figure: a named result that a method adds to a run's summary: a number, a list of numbers or a
// text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace motley {

// monostate: unknown or not applicable.
using FigureValue = std::variant<std::monostate, std::int64_t, double, std::vector<std::int64_t>,
                                 std::vector<double>, std::string>;

struct Figure {
  std::string name;  // its key in summary.json: "mean_group_size"
  FigureValue value;
};

using Figures = std::vector<Figure>;  // in display order

template <class Number>
FigureValue figure_of(std::optional<Number> number) {
  return number ? FigureValue(*number) : FigureValue();
}

}  // namespace motley
