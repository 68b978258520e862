#include "sync/ps/ps.h"

#include "motley/sync/parameter_server/bounded_committer.h"
#include "motley/sync/parameter_server/committer.h"
#include "motley/sync/parameter_server/server.h"
#include "motley/sync/parameter_server/staleness_bound.h"
#include "motley/sync/ps.h"
#include "sync/all_reduce/all_reduce.h"
#include "sync/parameter_server/server_sum.h"
#include "sync/refit.h"

namespace motley {
namespace {

std::unique_ptr<Strategy> make_ps_bsp(const StrategyContext& context) {
  return make_all_reduce_over(context,
                              std::make_unique<ServerSum>(context, context.replica.gradient()));
}

MethodState fit_ps_bsp(const MethodState& before, const Refit& refit) {
  return {.service = {}, .workers = fitted_clients(before.workers, refit, 1), .servers = {}};
}

Figures run_server_of_ps_bsp(const ServerContext& context) {
  return run_parameter_server(context, {.gate = staleness_bound(context.job, 0), .sums = true});
}

Figures run_server_of_ps_asp(const ServerContext& context) {
  return run_parameter_server(context, {.gate = staleness_bound(context.job, std::nullopt)});
}

Figures run_server_of_ps_ssp(const ServerContext& context) {
  const std::int64_t bound = context.job.strategy.of<PsSspOptions>().staleness;
  return run_parameter_server(context, {.gate = staleness_bound(context.job, bound)});
}

}  // namespace

const Method kPsBsp = {
    .schema = {.name = "ps_bsp",
               .summary = "every step sums gradients over all workers through parameter servers",
               .has_servers = true},
    .advance = Advance::kTogether,
    .make = make_ps_bsp,
    .run_server = run_server_of_ps_bsp,
    .fit = fit_ps_bsp,
};

const Method kPsAsp = {
    .schema = {.name = "ps_asp",
               .summary = "workers commit to parameter servers after each iteration and never wait",
               .exchanges = ExchangeKind::kChanges,
               .has_servers = true},
    .advance = Advance::kAtOwnPace,
    .make = make_unbounded_committer,
    .serve = serve_committers,
    .run_server = run_server_of_ps_asp,
    .fit = fit_committers,
};

const Method kPsSsp = {
    .schema = {.name = "ps_ssp",
               .summary =
                   "like ps_asp, but no worker gets more than strategy.ps.staleness commits ahead "
                   "of the slowest",
               .keys = {{"strategy.ps.staleness", option<&PsSspOptions::staleness>, Range{0, 1000},
                         "commits that a worker may be ahead of the slowest"}},
               .exchanges = ExchangeKind::kChanges,
               .has_servers = true},
    .advance = Advance::kAtOwnPace,
    .make = make_bounded_committer,
    .serve = serve_committers,
    .run_server = run_server_of_ps_ssp,
    .fit = fit_committers,
};

}  // namespace motley
