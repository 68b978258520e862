#include "sync/registry.h"

#include <array>

#include "sync/all_reduce.h"
#include "sync/partial_reduce/partial_reduce.h"

namespace motley {
namespace {

constexpr std::array kStrategies = {
    StrategyEntry{"all_reduce", Advance::kTogether, make_all_reduce},
    StrategyEntry{"partial_reduce", Advance::kAtOwnPace, make_partial_reduce, serve_partial_reduce},
};

}  // namespace

std::span<const StrategyEntry> strategies() { return kStrategies; }

const StrategyEntry* find_strategy(std::string_view name) {
  for (const StrategyEntry& entry : kStrategies) {
    if (entry.name == name) {
      return &entry;
    }
  }
  return nullptr;
}

}  // namespace motley
