// Simulated runs with checkpoints, and random jobs of them.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "motley/sync/method.h"
#include "runtime/simulate/simulate.h"
#include "tests/job_text.h"
#include "tests/toy_task.h"

namespace motley {

struct SeenCheckpoint {
  std::int64_t samples = 0;
  State state;
};

// What a run leaves.
struct Traces {
  std::vector<SeenCheckpoint> checkpoints;
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

inline std::unique_ptr<Task> task_of(const Job& job) {
  if (job.phantom()) {
    return std::make_unique<PhantomTask>(600, 1000);
  }
  return std::make_unique<ToyTask>(600, 7, 3, 0.01, 0.5);
}

inline Traces run(const Job& job, const State* from = nullptr) {
  Traces traces;
  CheckpointMonitor monitor(traces);
  traces.outcome = simulate(job, *task_of(job), monitor, from);
  return traces;
}

// Draws jobs. A seed always gives the same one.
class JobMaker {
 public:
  explicit JobMaker(std::uint64_t seed) : random_(seed) {}

  // A job of the method with unequal workers, some of whose steps are slow. Settings of the method
  // are drawn from what its keys allow; if they do not go together, others are drawn. `given` are
  // settings that are not drawn. Returns nullopt if the method cannot have them.
  std::optional<Job> make(const Method& method, std::optional<int> workers = {},
                          const Overrides& given = {}) {
    for (int attempt = 0; attempt < 200; ++attempt) {
      Overrides all = overrides(method, workers);
      all.insert(all.end(), given.begin(), given.end());
      const auto job = parse(kText, all, Mode::kSimulate);
      if (job) {
        return with_checkpoints(*job);
      }
    }
    return std::nullopt;
  }

  std::size_t below(std::size_t bound) { return random_.below(bound); }

 private:
  static constexpr std::string_view kText = R"(
[model]
kind = "svm"
[data]
kind = "synthetic"
[cluster]
unit = 1e-3
bandwidth = 1e6
memory_bandwidth = 1e8
[[cluster.slowdown]]
kind = "random"
probability = 0.2
factor = 3
[[cluster.event]]
kind = "bandwidth"
at = 0.2
worker = 0
bandwidth = 3e5
)";

  std::string any(const std::vector<std::string>& choices) {
    return choices[below(choices.size())];
  }

  Overrides overrides(const Method& method, std::optional<int> given) {
    const std::string workers = given ? std::to_string(*given) : any({"2", "4", "5"});
    std::string speeds = "1";
    for (int i = 1; i < std::stoi(workers); ++i) {
      speeds += any({", 1", ", 0.5", ", 0.3"});
    }
    std::string shares = any({"1", "3"});
    for (int i = 1; i < std::stoi(workers); ++i) {
      shares += any({", 1", ", 2"});
    }
    Overrides all{fmt::format("strategy.sync={}", method.name()),
                  "cluster.workers=" + workers,
                  fmt::format("cluster.speeds=[{}]", speeds),
                  fmt::format("strategy.shares=[{}]", shares),
                  fmt::format("seed={}", below(1000)),
                  "train.batch=" + any({"20", "32"}),
                  "train.steps=" + any({"9", "17", "40"}),
                  "train.eval_every=" + any({"0", "2", "5"}),
                  "cluster.unevenness=" + any({"0", "0.3"}),
                  "strategy.topk.ratio=0.3"};
    if (!method.schema.own_shares) {
      all.push_back("strategy.allocation=" + any({"equal", "static", "adaptive", "dynamic"}));
      all.push_back("strategy.adaptive.window=" + any({"2", "5"}));
    }
    if (method.schema.has_servers) {
      all.push_back("strategy.ps.servers=" + any({"1", "3"}));
    }
    if (method.schema.exchanges != ExchangeKind::kModels) {
      all.push_back("strategy.codec=" + any({"none", "fp16", "int8", "topk"}));
    }
    for (const Key<Job>& key : method.schema.keys) {
      if (const auto value = value_of(key); value && below(2) == 0) {
        all.push_back(fmt::format("{}={}", key.name, *value));
      }
    }
    return all;
  }

  std::optional<std::string> value_of(const Key<Job>& key) {
    if (const auto* one_of = std::get_if<OneOf>(&key.rule)) {
      return std::string(one_of->choices[below(one_of->choices.size())].name);
    }
    if (std::holds_alternative<YesOrNo>(key.rule)) {
      return any({"true", "false"});
    }
    if (const auto* range = std::get_if<Range>(&key.rule)) {
      return range->max <= 1 ? any({"0.3", "0.9"}) : any({"1", "2", "4"});
    }
    return std::nullopt;
  }

  Job with_checkpoints(Job job) {
    job.train.checkpoint_every = static_cast<std::int64_t>(1 + below(12));
    if (below(4) == 0) {
      job.model.kind = ModelKind::kPhantom;
    }
    return job;
  }

  Random random_;
};

}  // namespace motley
