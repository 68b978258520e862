#include "runtime/run/server_figures.h"

#include <algorithm>

namespace motley {
namespace {

// nullopt if some server has no number of this type under this name.
template <class Number>
std::optional<std::vector<Number>> row_of(std::span<const Figures> of_each,
                                          const std::string& name) {
  std::vector<Number> row;
  for (const Figures& figures : of_each) {
    const auto found = std::ranges::find(figures, name, &Figure::name);
    const Number* number = found != figures.end() ? std::get_if<Number>(&found->value) : nullptr;
    if (!number) {
      return std::nullopt;
    }
    row.push_back(*number);
  }
  return row;
}

}  // namespace

Figures figures_of_servers(std::span<const Figures> of_each) {
  Figures merged = of_each.empty() ? Figures{} : of_each.front();
  for (Figure& figure : merged) {
    if (auto counts = row_of<std::int64_t>(of_each, figure.name)) {
      figure.value = std::move(*counts);
    } else if (auto numbers = row_of<double>(of_each, figure.name)) {
      figure.value = std::move(*numbers);
    }
  }
  return merged;
}

}  // namespace motley
