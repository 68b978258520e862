#include "job/print.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <type_traits>

#include "job/parse.h"
#include "sync/registry.h"
#include "tests/random_job.h"

namespace motley {
namespace {

auto fields(const RandomSlowdown& s) { return std::tuple(s.probability, s.factor); }
auto fields(const ClusterEvent& e) {
  return std::tuple(e.at, e.kind, e.worker, e.speed, e.bandwidth, e.latency, e.seconds);
}

template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return std::ranges::equal(a, b, [](auto& x, auto& y) { return fields(x) == fields(y); });
}

std::string shown(const Edge& edge) { return fmt::format("{}>{}", edge.from, edge.to); }

// The values of the keys of all methods.
std::vector<std::string> method_settings(Job job) {
  std::vector<std::string> values;
  const auto show = [&]<class Place>(const Place& place) {
    if constexpr (std::is_same_v<Place, EnumPlace<Job>>) {
      values.push_back(fmt::format("{}", place.get(job)));
    } else if constexpr (std::is_invocable_v<Place, Job&>) {
      const auto& value = place(job);
      using Value = std::remove_cvref_t<decltype(value)>;
      if constexpr (std::is_same_v<Value, std::vector<Edge>>) {
        std::ranges::transform(value, std::back_inserter(values), shown);
      } else if constexpr (requires { value.has_value(); }) {
        values.push_back(value ? fmt::format("{}", *value) : "none");
      } else if constexpr (requires { value + 0; }) {
        values.push_back(fmt::format("{}", value));
      }
    }
  };
  for (const Key<Job>& key : job_schema().keys()) {
    if (!key.method.empty()) {
      std::visit(show, key.place);
    }
  }
  return values;
}

// Written by hand instead of using the table of keys, so that a key missing there is noticed.
bool same(const Job& a, const Job& b) {
  const auto all = [](const Job& j) {
    const auto& [model, data, train, strategy, c] =
        std::tie(j.model, j.data, j.train, j.strategy, j.cluster);
    return std::tuple_cat(
        std::tuple(j.name, j.seed, model.kind, model.path, model.parameters, data.kind, data.path,
                   data.test_path, data.holdout, data.samples, data.test_samples, data.features,
                   data.classes),
        std::tuple(train.batch, train.epochs, train.steps, train.target_accuracy, train.eval_every,
                   train.optimizer, train.lr, train.momentum, train.weight_decay, train.micro_batch,
                   train.checkpoint_every, train.checkpoint_keep),
        std::tuple(strategy.sync, strategy.allocation, strategy.shares, strategy.codec,
                   strategy.adaptive.window, strategy.adaptive.dead_band),
        std::tuple(strategy.error_feedback, strategy.ps.servers, strategy.topk.ratio,
                   c.server_bandwidth),
        std::tuple(c.workers, c.unit, c.overhead, c.speeds, c.heartbeat, c.threads, c.isolate),
        std::tuple(c.hosts, c.server_hosts, c.latency, c.bandwidth, c.bandwidth_up,
                   c.bandwidth_down, c.backbone, c.tcp_efficiency, c.unevenness, c.memory_bandwidth,
                   c.memory_latency),
        std::tuple(c.elastic, c.min_workers, c.respawn, c.rejoin_timeout, c.churn.has_value()));
  };
  const auto churn = [](const Job& j) {
    const Churn given = j.cluster.churn.value_or(Churn{});
    return std::tuple(given.mtbf, given.mttr, given.seed);
  };
  return all(a) == all(b) && churn(a) == churn(b) && method_settings(a) == method_settings(b) &&
         same(a.cluster.slowdowns, b.cluster.slowdowns) && same(a.cluster.events, b.cluster.events);
}

RC_GTEST_PROP(ToToml, ReadsBackAsTheSameJob, ()) {
  const Job job = random_job();
  const std::string text = to_toml(job_schema(), job);
  const auto back = parse_job(job_schema(), text, "job.toml", {}, Mode::kConfig);
  if (!back) {
    RC_FAIL(back.error().message + "\n" + text);
  }
  RC_ASSERT(same(*back, job));
  RC_ASSERT(to_toml(job_schema(), *back) == text);
}

constexpr const char* kResolvedJob =
    R"(name = "job"
seed = 1

[model]
kind = "mlp"

[data]
kind = "synthetic"
samples = 10000
test_samples = 2000
features = 784
classes = 10

[train]
batch = 256
epochs = 1
order = "shuffled"
drop_last = false
sticky = false
min_share = 1
eval_every = 50
eval_every_epochs = 0
checkpoint_every = "auto"
checkpoint_keep = 3
optimizer = "adam"
lr = 0.05
weight_decay = 0

[train.loader]
workers = 0

[strategy]
sync = "all_reduce"
allocation = "equal"
codec = "none"

[cluster]
workers = 4
unit = 0.0005
overhead = 0
speeds = [1, 1, 1, 0.25]
latency = 5e-05
bandwidth = 1250000000
tcp_efficiency = 1
unevenness = 0
memory_latency = 1e-05
heartbeat = 5
threads = 1
isolate = "none"
elastic = true
min_workers = 1
respawn = 3
rejoin_timeout = 60

[[cluster.slowdown]]
kind = "random"
probability = 0.25
factor = 6
)";

TEST(ToToml, PrintsTheResolvedJob) {
  const std::vector<std::string> overrides = {
      "train.optimizer=adam", "cluster.unit=0.0005", "cluster.speeds=[1,1,1,0.25]",
      "cluster.slowdown=[{kind='random',probability=0.25,factor=6}]"};
  EXPECT_EQ(
      to_toml(job_schema(), *parse_job(job_schema(), "", "job.toml", overrides, Mode::kConfig)),
      kResolvedJob);
}

TEST(DescribeKeys, HasOneRowPerKey) {
  const std::string text = describe_keys(job_schema());
  for (const char* row :
       {"| `train.batch` | integer from 1 to 1000000000 | `256` | samples in one step of the "
        "whole cluster |\n",
        "| `model.path` | string |  | a module saved by `torch.jit.save`; needed for model.kind "
        "= \"torchscript\" |\n",
        "| `cluster.bandwidth` | a number, or one number per worker, each from 1 to "
        "1000000000000000 | all `1250000000` | bytes per second of every worker's link, "
        "in each direction (simulate) |\n",
        "| `cluster.hosts` | an integer, or one integer per worker, each from 0 to 1000000 |  | ",
        "| `cluster.server_hosts` | an integer, or one integer per server, each from 0 to 1000000 "
        "|  | ",
        "| `cluster.latency` | a number, one number per worker, or a matrix of them, each from 0 "
        "to "
        "1000000 | `5e-05` | ",
        "| `cluster.event[].kind` | `\"speed\"`, `\"bandwidth\"`, `\"latency\"`, `\"dies\"`, ",
        "| `cluster.event[].speed` | number from 1e-06 to 1000000 |  | its speed from then on; "
        "needed for kind = \"speed\" |\n",
        "| `cluster.event[].worker` | integer from 0 to 65535 |  | the worker's number, counted "
        "from 0; ",
        "| `cluster.churn.mtbf` | number above 0 and at most 1000000000000 |  | ",
        "| `strategy.codec` | `\"none\"`, `\"fp16\"`, `\"bf16\"`, `\"int8\"`, `\"topk\"` | "
        "`\"none\"` | "
        "how numbers are encoded in messages; some methods have another default |\n"}) {
    EXPECT_NE(text.find(row), std::string::npos) << row << text;
  }
}

}  // namespace
}  // namespace motley
