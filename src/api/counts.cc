#include "api/counts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <set>
#include <stdexcept>
#include <utility>

#include "motley/base/failure.h"
#include "motley/sync/strategy.h"

namespace motley {
namespace {

struct SavedCount {
  std::string name;
  double total = 0;

  void state(Archive& archive) {
    archive("name", name);
    archive("total", total);
  }
};

}  // namespace

Counts::Counts(std::vector<std::string> names)
    : names_(std::move(names)), added_(names_.size()), totals_(names_.size()) {
  const std::set<std::string> different(names_.begin(), names_.end());
  if (different.size() < names_.size() || different.contains("")) {
    throw Refused(
        fmt::format("Options::counts is [{}]: expected names that are not empty and "
                    "differ from each other",
                    fmt::join(names_, ", ")));
  }
  if (names_.size() > kMostCounts) {
    throw Refused(fmt::format("Options::counts has {} names; expected at most {}", names_.size(),
                              kMostCounts));
  }
}

void Counts::add(const std::string& name, double number) {
  const auto place = std::ranges::find(names_, name);
  if (place == names_.end()) {
    throw std::invalid_argument(
        fmt::format("count(\"{}\", ...): no such name in Options::counts, which is [{}]", name,
                    fmt::join(names_, ", ")));
  }
  added_[static_cast<std::size_t>(place - names_.begin())] += number;
}

std::vector<double> Counts::take() {
  return std::exchange(added_, std::vector<double>(names_.size()));
}

void Counts::add_to_totals(const std::vector<double>& more) {
  if (more.size() == totals_.size()) {
    std::ranges::transform(more, totals_, totals_.begin(), std::plus());
  }
}

void Counts::set_totals(const std::vector<double>& totals) {
  if (totals.size() == totals_.size()) {
    totals_ = totals;
  }
}

std::map<std::string, double> Counts::totals() const {
  std::map<std::string, double> by_name;
  for (std::size_t place = 0; place < names_.size(); ++place) {
    by_name[names_[place]] = totals_[place];
  }
  return by_name;
}

std::string Counts::describe() const {
  return names_.empty() ? "" : fmt::format("counts {}\n", fmt::join(names_, ", "));
}

void Counts::state(Archive& archive) {
  std::vector<SavedCount> saved;
  for (const auto& [name, total] : totals()) {
    saved.push_back({name, total});
  }
  archive("counts", saved);
  for (const SavedCount& each : saved) {
    const auto place = std::ranges::find(names_, each.name);
    if (place != names_.end()) {
      totals_[static_cast<std::size_t>(place - names_.begin())] = each.total;
    }
  }
}

}  // namespace motley
