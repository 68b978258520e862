// A method of a program has everything that motley's methods have: keys, checks, its own pace,
// servers. This one uses public headers only.
#include <gtest/gtest.h>

#include "motley/method.h"
#include "tests/job_text.h"
#include "tests/simulated_job.h"
#include "tests/toy_task.h"

namespace motley::own_method_test {
namespace {

struct CautiousOptions {
  std::int64_t lead = 2;
  bool eager = false;
};

Checked check_cautious(const Job& job, const IsGiven& is_given) {
  if (job.strategy.of<CautiousOptions>().eager && is_given("strategy.cautious.lead")) {
    return JobProblem{{"strategy.cautious.lead"}, "strategy.cautious.lead is not for the eager"};
  }
  return {};
}

Figures run_cautious_server(const ServerContext& context) {
  const auto& options = context.job.strategy.of<CautiousOptions>();
  const auto bound = options.eager ? std::nullopt : std::optional(options.lead);
  return run_parameter_server(context, {.gate = staleness_bound(context.job, bound)});
}

const Method kCautious = {
    .schema = {.name = "cautious",
               .summary = "commits with a bound (test)",
               .keys = {{"strategy.cautious.lead", option<&CautiousOptions::lead>, Range{0, 9},
                         "commits ahead of the slowest"},
                        {"strategy.cautious.eager", option<&CautiousOptions::eager>, YesOrNo{},
                         "no bound at all"}},
               .exchanges = ExchangeKind::kChanges,
               .has_servers = true,
               .check = check_cautious},
    .advance = Advance::kAtOwnPace,
    .make = make_bounded_committer,
    .serve = serve_committers,
    .run_server = run_cautious_server,
};

class OwnMethod : public testing::Test {
 protected:
  static void SetUpTestSuite() { register_method(kCautious); }
};

TEST_F(OwnMethod, HasKeysThatAreParsedAndChecked) {
  const Job job = good("[strategy]\nsync = 'cautious'\ncautious.lead = 4\nps.servers = 2");
  EXPECT_EQ(job.strategy.of<CautiousOptions>().lead, 4);
  EXPECT_EQ(servers_of(job), 2);
  EXPECT_EQ(error_of("[strategy]\nsync = 'cautious'\ncautious.lead = 10"),
            "job.toml:3: strategy.cautious.lead is 10, but must be from 0 to 9");
  EXPECT_EQ(error_of("[strategy]\nsync = 'cautious'\ncautious.laed = 1"),
            "job.toml:3: unknown key \"strategy.cautious.laed\"; did you mean "
            "\"strategy.cautious.lead\"?");
  EXPECT_EQ(error_of("[strategy]\nsync = 'cautious'\ncautious.eager = true\ncautious.lead = 1"),
            "job.toml:4: strategy.cautious.lead is not for the eager");
}

TEST_F(OwnMethod, HasServersAndGoesAtItsOwnPace) {
  for (const bool eager : {false, true}) {
    Job job = simulated_job("cautious", {1, 1, 1, 0.2}, 80, 100);
    job.strategy.of<CautiousOptions>() = {1, eager};
    job.strategy.ps.servers = 2;
    ToyTask task(500, 10, 3, 0.1);
    QuietMonitor monitor;
    const RunOutcome outcome = simulate(job, task, monitor);
    ASSERT_FALSE(monitor.metrics.empty());
    EXPECT_GT(monitor.metrics.back().accuracy, 0.9);
    EXPECT_EQ(outcome.service.max_iteration_gap <= 2, !eager);
    EXPECT_EQ(outcome.servers.size(), 2U);
  }
}

}  // namespace
}  // namespace motley::own_method_test
