#include "job/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace motley {
namespace {

// Optimal string alignment distance: Levenshtein, where swapping two adjacent letters counts as
// one.
std::size_t typos(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, above);
    std::swap(above, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> names) {
  const std::size_t tolerated = std::max<std::size_t>(1, (word.size() + 1) / 3);
  std::size_t fewest = tolerated + 1;
  std::string_view best;
  for (std::string_view name : names) {
    if (word.size() > name.size() + tolerated) {
      continue;
    }
    if (const std::size_t count = typos(word, name); count < fewest) {
      fewest = count;
      best = name;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view name) {
  return name.empty() ? "" : fmt::format("; did you mean \"{}\"?", name);
}

}  // namespace motley
