// A figure of a run's service, by name.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>

#include "runtime/run/run.h"

namespace motley {

inline std::optional<double> figure(const RunOutcome& outcome, const std::string& name) {
  const auto& figures = outcome.service.figures;
  const auto found = std::ranges::find(figures, name, &Figure::name);
  EXPECT_NE(found, figures.end()) << name;
  if (const auto* number = std::get_if<std::int64_t>(&found->value)) {
    return static_cast<double>(*number);
  }
  const auto* number = std::get_if<double>(&found->value);
  return number ? std::optional(*number) : std::nullopt;
}

}  // namespace motley
