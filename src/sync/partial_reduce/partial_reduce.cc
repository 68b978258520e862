#include "sync/partial_reduce/partial_reduce.h"

#include <fmt/format.h>

#include <algorithm>

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
       OneOf{"a group policy", kPolicies},
       "which workers form a group: the first `group` that are ready, or all that are ready within "
       "a short wait"},
      {"strategy.partial_reduce.weights", option<&PartialReduceOptions::weights>,
       OneOf{"a kind of weights", kWeights},
       "weights of the models in a group: all equal, or less for stale models"},
      {"strategy.partial_reduce.dynamic_rule", option<&PartialReduceOptions::dynamic_rule>,
       OneOf{"a rule for dynamic weights", kDynamicRules},
       "how dynamic weights depend on staleness: `alpha` to the power of it, or a moving average"},
      {"strategy.partial_reduce.alpha", option<&PartialReduceOptions::alpha>, Range{0, 1, true},
       "factor on a dynamic weight for one iteration of staleness"},
      {"strategy.partial_reduce.window", option<&PartialReduceOptions::window>, Range{1, 1e9},
       "consecutive groups that must connect all workers; 10 iterations of each worker if not "
       "given"},
      {"strategy.partial_reduce.filter", option<&PartialReduceOptions::filter>, YesOrNo{},
       "enforce that every window connects all workers"},
  };
}

void complete_partial_reduce(Job& job) {
  auto& options = job.strategy.of<PartialReduceOptions>();
  options.window = options.window_among(job.cluster.workers);
}

// A single worker has nobody to average with, whatever P is.
int largest_group(int workers) { return std::max(workers, 2); }

// There must be at least P workers, and the window must be long enough to connect all of them.
Checked check_partial_reduce(const Job& job, const IsGiven&) {
  const auto& options = job.strategy.of<PartialReduceOptions>();
  const int workers = job.cluster.workers;
  if (options.group > largest_group(workers)) {
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

void arrange_partial_reduce(Job& job, const std::vector<int>&) {
  auto& options = job.strategy.of<PartialReduceOptions>();
  const int workers = job.cluster.workers;
  options.group = std::min(options.group, largest_group(workers));
  options.window = std::max(options.window_among(workers), options.fewest_among(workers));
}

}  // namespace

const Method kPartialReduce = {
    .schema = {.name = "partial_reduce",
               .summary = "workers that are ready average their models in small groups, without "
                          "waiting for the slowest (Miao et al.)",
               .keys = partial_reduce_keys(),
               .exchanges = ExchangeKind::kModels,
               .complete = complete_partial_reduce,
               .check = check_partial_reduce},
    .advance = Advance::kAtOwnPace,
    .make = make_partial_reduce,
    .serve = serve_partial_reduce,
    .fit = fit_partial_reduce,
    .arrange = arrange_partial_reduce,
};

}  // namespace motley
