#include "sync/partial_reduce/partial_reduce.h"

#include <fmt/format.h>

namespace motley {
namespace {

constexpr Choice kPolicies[] = {choice("count", GroupTiming::kCount),
                                choice("window", GroupTiming::kWindow)};
constexpr Choice kWeights[] = {choice("constant", GroupWeights::kConstant),
                               choice("dynamic", GroupWeights::kDynamic)};
constexpr Choice kDynamicRules[] = {choice("decay", DynamicRule::kDecay),
                                    choice("ema", DynamicRule::kEma)};

std::vector<Key<Job>> partial_reduce_keys() {
  return {
      {"strategy.partial_reduce.group", option<&PartialReduceOptions::group>, Range{2, 65536},
       "workers that average together"},
      {"strategy.partial_reduce.policy", option<&PartialReduceOptions::policy>,
       OneOf{"a policy of groups", kPolicies},
       "who is a group: the first `group` that are ready, or whoever is ready within a short wait"},
      {"strategy.partial_reduce.weights", option<&PartialReduceOptions::weights>,
       OneOf{"a way to weigh models", kWeights},
       "equal weights within a group, or less weight for stale models"},
      {"strategy.partial_reduce.dynamic_rule", option<&PartialReduceOptions::dynamic_rule>,
       OneOf{"a rule of dynamic weights", kDynamicRules},
       "how dynamic weights follow from staleness: `alpha` to its power, or a moving average's"},
      {"strategy.partial_reduce.alpha", option<&PartialReduceOptions::alpha>, Range{0, 1, true},
       "what one iteration of staleness leaves of a dynamic weight"},
      {"strategy.partial_reduce.window", option<&PartialReduceOptions::window>, Range{1, 1e9},
       "groups in a row that must connect all workers; 10 iterations of each when not given"},
      {"strategy.partial_reduce.filter", option<&PartialReduceOptions::filter>, YesOrNo{},
       "see to it that they do"},
  };
}

void complete_partial_reduce(Job& job) {
  auto& options = job.strategy.of<PartialReduceOptions>();
  options.window = options.window_among(job.cluster.workers);
}

// Groups of P workers need P workers, and a window in which they can connect all.
Checked check_partial_reduce(const Job& job, const IsGiven&) {
  const auto& options = job.strategy.of<PartialReduceOptions>();
  const int workers = job.cluster.workers;
  if (options.group > workers) {
    return JobProblem{{"strategy.partial_reduce.group", "cluster.workers", "strategy.sync"},
                      fmt::format("strategy.partial_reduce.group is {}, but cluster.workers is {}",
                                  options.group, workers)};
  }
  if (const std::int64_t fewest = options.fewest_among(workers); *options.window < fewest) {
    return JobProblem{
        {"strategy.partial_reduce.window"},
        fmt::format("strategy.partial_reduce.window is {}, but it takes {} groups of {} to connect "
                    "{} workers",
                    *options.window, fewest, options.group, workers)};
  }
  return {};
}

}  // namespace

const Method kPartialReduce = {
    .schema = {.name = "partial_reduce",
               .summary = "small groups of whoever is ready average their models, not all at the "
                          "pace of the slowest (Miao et al.)",
               .keys = partial_reduce_keys(),
               .exchanges = ExchangeKind::kModels,
               .complete = complete_partial_reduce,
               .check = check_partial_reduce},
    .advance = Advance::kAtOwnPace,
    .make = make_partial_reduce,
    .serve = serve_partial_reduce,
};

}  // namespace motley
