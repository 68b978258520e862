// A method of a program has everything that motley's methods have: keys, checks, its own pace,
// servers. This one uses public headers only.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "job/print.h"
#include "motley/method.h"
#include "sync/registry.h"
#include "tests/job_text.h"
#include "tests/simulated_job.h"
#include "tests/toy_task.h"

namespace motley::own_method_test {
namespace {

struct CautiousOptions {
  std::int64_t lead = 2;
  bool eager = false;
};

Checked check_cautious(const Job&, const IsGiven& is_given) {
  if (is_given("strategy.cautious.lead") && !is_given("strategy.cautious.eager")) {
    return JobProblem{{"strategy.cautious.lead"},
                      "strategy.cautious.lead needs strategy.cautious.eager"};
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
  const Job job = good(
      "[strategy]\nsync = 'cautious'\ncautious.lead = 4\ncautious.eager = false\nps.servers = 2");
  EXPECT_EQ(job.strategy.of<CautiousOptions>().lead, 4);
  EXPECT_EQ(servers_of(job), 2);
  EXPECT_EQ(error_of("[strategy]\nsync = 'cautious'\ncautious.lead = 10"),
            "job.toml:3: strategy.cautious.lead is 10, but must be from 0 to 9");
  EXPECT_EQ(error_of("[strategy]\nsync = 'cautious'\ncautious.laed = 1"),
            "job.toml:3: unknown key \"strategy.cautious.laed\"; did you mean "
            "\"strategy.cautious.lead\"?");
  EXPECT_EQ(error_of("[strategy]\nsync = 'cautious'\ncautious.lead = 1"),
            "job.toml:3: strategy.cautious.lead needs strategy.cautious.eager");
  EXPECT_EQ(good(to_toml(job_schema(), job)).strategy.of<CautiousOptions>().lead, 4);
}

enum class Speed { kSlow, kFast };
constexpr Choice kOnlySlow[] = {choice("slow", Speed::kSlow)};

struct WrongOptions {
  std::int64_t count = 0;
  bool flag = false;
  Speed speed = Speed::kFast;
};

// What registering a method with these keys throws.
std::string refusal(std::string_view name, std::vector<Key<Job>> keys) {
  Method method = kCautious;
  method.schema.name = name;
  method.schema.keys = std::move(keys);
  try {
    register_method(method);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

TEST_F(OwnMethod, ThatCannotWorkIsRefusedByName) {
  const Key<Job> count{"strategy.odd.count", option<&WrongOptions::count>, Range{0, 9}, ""};
  Key<Job> yes = count;
  yes.rule = YesOrNo{};
  Key<Job> above = count;
  above.rule = Range{1, 9};
  const Key<Job> flag{"strategy.odd.flag", option<&WrongOptions::flag>, Range{0, 1}, ""};
  const Key<Job> speed{"strategy.odd.speed", option<&WrongOptions::speed>,
                       OneOf{"a speed", kOnlySlow}, ""};
  Key<Job> taken = count;
  taken.name = "strategy.cautious.lead";
  Key<Job> elsewhere = count;
  elsewhere.name = "train.count";
  EXPECT_EQ(refusal("", {}),
            "the method \"\" needs a name of lower-case letters, digits and underscores");
  EXPECT_EQ(refusal("cautious", {}), "the method \"cautious\" is registered already");
  const std::string odd = "the method \"odd\" has a key strategy.odd.";
  EXPECT_EQ(refusal("odd", {yes}), odd + "count that has the rule YesOrNo, which is for bools");
  EXPECT_EQ(refusal("odd", {above}), odd + "count that has the default 0, outside its range");
  EXPECT_EQ(refusal("odd", {flag}), odd + "flag that has the rule Range, which is for numbers");
  EXPECT_EQ(refusal("odd", {speed}),
            odd + "speed that has a default, 1, that is not among its choices");
  EXPECT_EQ(refusal("odd", {count, count}), odd + "count that is listed twice");
  EXPECT_EQ(refusal("odd", {taken}),
            "the method \"odd\" has a key strategy.cautious.lead that exists already");
  EXPECT_EQ(refusal("odd", {elsewhere}),
            "the method \"odd\" has a key train.count that should be named "
            "strategy.<section>.<key>");
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
