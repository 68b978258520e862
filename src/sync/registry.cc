#include "sync/registry.h"

#include <array>

#include "sync/ad_psgd.h"
#include "sync/all_reduce.h"
#include "sync/hop/hop.h"
#include "sync/local_sgd.h"
#include "sync/parameter_server/adsp.h"
#include "sync/parameter_server/ashl.h"
#include "sync/parameter_server/ps.h"
#include "sync/partial_reduce/partial_reduce.h"

namespace motley {
namespace {

constexpr std::array kStrategies = {
    StrategyEntry{"all_reduce", Advance::kTogether, make_all_reduce},
    StrategyEntry{"partial_reduce", Advance::kAtOwnPace, make_partial_reduce, serve_partial_reduce},
    StrategyEntry{"hop", Advance::kAtOwnPace, make_hop, serve_hop},
    StrategyEntry{"ad_psgd", Advance::kAtOwnPace, make_ad_psgd, serve_ad_psgd},
    StrategyEntry{"ps_bsp", Advance::kTogether, make_ps_bsp, nullptr, hold_ps_bsp},
    StrategyEntry{"ps_asp", Advance::kAtOwnPace, make_ps_asp, serve_ps, hold_ps_asp},
    StrategyEntry{"ps_ssp", Advance::kAtOwnPace, make_ps_ssp, serve_ps, hold_ps_ssp},
    StrategyEntry{"adsp", Advance::kAtOwnPace, make_adsp, serve_adsp, hold_adsp},
    StrategyEntry{"ashl", Advance::kAtOwnPace, make_ashl, serve_ashl, hold_ashl},
    StrategyEntry{"local_sgd", Advance::kTogether, make_local_sgd},
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
