// The methods that exist, by name: adding one is one line in registry.cc.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "sync/strategy.h"

namespace motley {

struct StrategyEntry {
  std::string_view name;     // strategy.sync in a job
  std::string_view summary;  // one line for `motley strategies`
  std::unique_ptr<Strategy> (*make)(const StrategyContext& context);
};

std::span<const StrategyEntry> strategies();
// nullptr when there is none of that name.
const StrategyEntry* find_strategy(std::string_view name);

}  // namespace motley
