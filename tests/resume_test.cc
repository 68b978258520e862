// A simulated run that goes on from one of its checkpoints ends with the same bytes as the run that
// wrote it: for every method, allocation and codec, at random checkpoints.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

#include "allocate/allocation.h"
#include "motley/sync/method.h"
#include "runtime/simulate/simulate.h"
#include "sync/registry.h"
#include "tests/job_text.h"
#include "tests/quiet_monitor.h"
#include "tests/simulated_job.h"
#include "tests/toy_task.h"

namespace motley {
namespace {

struct Checkpoint {
  std::int64_t samples = 0;
  State state;
};

// What a run leaves.
struct Traces {
  std::vector<Checkpoint> checkpoints;
  std::vector<Metric> metrics;
  RunOutcome outcome;
};

class CheckpointMonitor final : public RunMonitor {
 public:
  explicit CheckpointMonitor(Traces& traces) : traces_(traces) {}
  void on_progress(const RunProgress&) override {}
  void on_metric(const Metric& metric) override { traces_.metrics.push_back(metric); }
  // As a checkpoint on disk: its values are text.
  void on_checkpoint(std::int64_t samples, State state) override {
    state.values = nlohmann::json::parse(state.values.dump());
    traces_.checkpoints.push_back({samples, std::move(state)});
  }
  std::optional<std::string> stop_requested() override { return std::nullopt; }
  bool abandon_requested() override { return false; }

 private:
  Traces& traces_;
};

std::unique_ptr<Task> task_of(const Job& job) {
  if (job.phantom()) {
    return std::make_unique<PhantomTask>(600, 1000);
  }
  return std::make_unique<ToyTask>(600, 7, 3, 0.01, 0.5);
}

Traces run(const Job& job, const State* from = nullptr) {
  Traces traces;
  CheckpointMonitor monitor(traces);
  traces.outcome = simulate(job, *task_of(job), monitor, from);
  return traces;
}

// Everything in an outcome, as the summary shows it.
nlohmann::json shown(const RunOutcome& outcome) {
  Summary summary;
  summary.seconds = outcome.seconds;
  summary.samples = outcome.samples;
  summary.workers = outcome.workers;
  summary.servers = outcome.servers;
  summary.shares = outcome.allocation;
  summary.max_iteration_gap = outcome.service.max_iteration_gap;
  summary.method = outcome.service.figures;
  summary.simulated_events = outcome.simulated_events;
  return to_json(summary);
}

bool same(const Metric& a, const Metric& b) {
  return std::tie(a.seconds, a.samples, a.step, a.loss, a.accuracy, a.train_loss) ==
         std::tie(b.seconds, b.samples, b.step, b.loss, b.accuracy, b.train_loss);
}

// The metrics of `part` must be the last ones of `whole`.
bool ends_with(const std::vector<Metric>& whole, const std::vector<Metric>& part) {
  return part.size() <= whole.size() &&
         std::equal(part.rbegin(), part.rend(), whole.rbegin(), same);
}

template <class T>
T any_of(const std::vector<T>& choices) {
  return *rc::gen::elementOf(choices);
}

// A job of the method that its schema accepts, with unequal, sometimes slow workers.
std::optional<Job> any_job(const Method& method) {
  const int workers = any_of<int>({2, 4, 5});
  Job job = simulated_job(std::string(method.name()), equal_speeds(workers),
                          any_of<std::int64_t>({20, 32}), any_of<std::int64_t>({17, 40, 61}));
  for (double& speed : job.cluster.speeds) {
    speed = any_of<double>({1, 0.5, 0.3});
  }
  job.seed = *rc::gen::inRange<std::uint64_t>(1, 1000);
  job.train.checkpoint_every = any_of<std::int64_t>({1, 3, 8, 15});
  job.train.eval_every = any_of<std::int64_t>({0, 2, 5});
  job.cluster.slowdowns = {{0.2, 3}};
  job.cluster.unevenness = any_of<double>({0, 0.3});
  job.cluster.memory_bandwidth = 1e8;
  job.cluster.bandwidth.assign(job.cluster.speeds.size(), 1e6);
  std::vector<std::string> allocations;
  for (const Allocation& allocation : motley::allocations()) {
    allocations.emplace_back(allocation.name);
  }
  job.strategy.allocation = method.schema.own_shares ? "equal" : any_of(allocations);
  job.strategy.ps.servers = any_of<int>({1, 3});
  job.strategy.codec =
      any_of<CodecKind>({CodecKind::kNone, CodecKind::kFp16, CodecKind::kInt8, CodecKind::kTopk});
  if (method.schema.exchanges == ExchangeKind::kModels) {
    job.strategy.codec = CodecKind::kNone;
  }
  job.strategy.topk.ratio = 0.3;
  if (any_of<int>({0, 0, 1}) == 1) {
    job.model.kind = ModelKind::kPhantom;
  }
  return job;
}

class Resume : public testing::TestWithParam<const Method*> {};

TEST_P(Resume, EndsAsTheRunThatWentOn) {
  rc::check("at any checkpoint", [&] {
    const auto job = any_job(*GetParam());
    RC_PRE(job.has_value());
    const Traces whole = run(*job);
    RC_ASSERT(!whole.checkpoints.empty());
    const auto chosen = *rc::gen::inRange<std::size_t>(0, whole.checkpoints.size());
    RC_PRE(chosen + 1 < whole.checkpoints.size());  // the last one is the end of the run
    const Traces resumed = run(*job, &whole.checkpoints[chosen].state);
    RC_ASSERT(resumed.checkpoints.size() == whole.checkpoints.size() - chosen - 1);
    for (std::size_t i = 0; i < resumed.checkpoints.size(); ++i) {
      const Checkpoint& then = whole.checkpoints[chosen + 1 + i];
      RC_ASSERT(resumed.checkpoints[i].samples == then.samples);
      RC_ASSERT(resumed.checkpoints[i].state.values == then.state.values);
      RC_ASSERT(resumed.checkpoints[i].state == then.state);
    }
    RC_ASSERT(resumed.outcome.model.parameters == whole.outcome.model.parameters);
    RC_ASSERT(shown(resumed.outcome) == shown(whole.outcome));
    RC_ASSERT(ends_with(whole.metrics, resumed.metrics));
  });
}

std::string name_of_test(const testing::TestParamInfo<const Method*>& info) {
  return std::string(info.param->name());
}
INSTANTIATE_TEST_SUITE_P(Methods, Resume, testing::ValuesIn(methods().begin(), methods().end()),
                         name_of_test);

}  // namespace
}  // namespace motley
