#include "motley/sync/registry.h"

#include <array>
#include <vector>

#include "base/check.h"
#include "job/choices.h"
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

constexpr std::array kOwnStrategies = {
    StrategyEntry{"all_reduce", Advance::kTogether, make_all_reduce},
    StrategyEntry{"partial_reduce", Advance::kAtOwnPace, make_partial_reduce, serve_partial_reduce},
    StrategyEntry{"hop", Advance::kAtOwnPace, make_hop, serve_hop},
    StrategyEntry{"ad_psgd", Advance::kAtOwnPace, make_ad_psgd, serve_ad_psgd},
    StrategyEntry{"ps_bsp", Advance::kTogether, make_ps_bsp, nullptr, run_server_of_ps_bsp},
    StrategyEntry{"ps_asp", Advance::kAtOwnPace, make_ps_asp, serve_ps, run_server_of_ps_asp},
    StrategyEntry{"ps_ssp", Advance::kAtOwnPace, make_ps_ssp, serve_ps, run_server_of_ps_ssp},
    StrategyEntry{"adsp", Advance::kAtOwnPace, make_adsp, serve_adsp, run_server_of_adsp},
    StrategyEntry{"ashl", Advance::kAtOwnPace, make_ashl, serve_ashl, run_server_of_ashl},
    StrategyEntry{"local_sgd", Advance::kTogether, make_local_sgd},
};

std::vector<StrategyEntry>& known_strategies() {
  static std::vector<StrategyEntry> known(kOwnStrategies.begin(), kOwnStrategies.end());
  return known;
}

}  // namespace

void register_strategy(const StrategyEntry& entry, std::string_view summary) {
  MOTLEY_CHECK(!find_strategy(entry.name), "there is a strategy {} already", entry.name);
  MOTLEY_CHECK(entry.make && !entry.run_server, "strategy {} needs a worker's side, and no servers",
               entry.name);
  known_strategies().push_back(entry);
  add_sync_method({entry.name, summary});
}

std::span<const StrategyEntry> strategies() { return known_strategies(); }

const StrategyEntry* find_strategy(std::string_view name) {
  for (const StrategyEntry& entry : known_strategies()) {
    if (entry.name == name) {
      return &entry;
    }
  }
  return nullptr;
}

}  // namespace motley
