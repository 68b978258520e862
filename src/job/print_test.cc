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

namespace motley {
namespace {

auto fields(const RandomSlowdown& s) { return std::tuple(s.probability, s.factor); }
auto fields(const ClusterEvent& e) {
  return std::tuple(e.at, e.kind, e.worker, e.speed, e.bandwidth, e.latency);
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
                   train.optimizer, train.lr, train.momentum, train.weight_decay,
                   train.micro_batch),
        std::tuple(strategy.sync, strategy.allocation, strategy.shares, strategy.codec,
                   strategy.adaptive.window, strategy.adaptive.dead_band),
        std::tuple(strategy.error_feedback, strategy.ps.servers, strategy.topk.ratio,
                   c.server_bandwidth),
        std::tuple(c.workers, c.unit, c.overhead, c.speeds, c.heartbeat, c.threads, c.isolate),
        std::tuple(c.hosts, c.server_hosts, c.latency, c.bandwidth, c.bandwidth_up,
                   c.bandwidth_down, c.backbone, c.tcp_efficiency, c.unevenness, c.memory_bandwidth,
                   c.memory_latency));
  };
  return all(a) == all(b) && method_settings(a) == method_settings(b) &&
         same(a.cluster.slowdowns, b.cluster.slowdowns) && same(a.cluster.events, b.cluster.events);
}

// A random double in [min, max], usually with all mantissa bits in use.
double number(double min, double max) {
  constexpr std::uint64_t kSteps = std::uint64_t{1} << 53;
  const auto step = static_cast<double>(*rc::gen::inRange<std::uint64_t>(0, kSteps));
  return std::clamp(min + (max - min) * step / static_cast<double>(kSteps), min, max);
}

std::int64_t size() { return *rc::gen::inRange<std::int64_t>(1, 1'000'000'000); }

template <class T>
std::optional<T> maybe(T value) {
  return *rc::gen::arbitrary<bool>() ? std::optional(value) : std::nullopt;
}

std::string text(std::size_t max_size) {
  const char* pieces[] = {"a",  "Z",    "0",  ".", " ", "\"", "'", "\\", "#",
                          "\t", "\x7f", "\n", "é", "=", "[",  "{", "\r", "\x01"};
  std::string result = "x";
  for (std::size_t i = *rc::gen::inRange<std::size_t>(0, max_size); i > 0; --i) {
    result += pieces[*rc::gen::inRange<std::size_t>(0, std::size(pieces))];
  }
  return result;
}

void fill_model_and_data(Job& job) {
  job.model.kind = *rc::gen::element(ModelKind::kSvm, ModelKind::kMlp, ModelKind::kCnn,
                                     ModelKind::kTorchscript, ModelKind::kPhantom);
  if (job.model.kind == ModelKind::kTorchscript) {
    job.model.path = text(20);
  }
  if (job.phantom()) {
    job.model.parameters = size();
  } else {
    job.data.kind = *rc::gen::element(DataKind::kIdx, DataKind::kCifar10, DataKind::kLibsvm,
                                      DataKind::kSynthetic);
  }
  if (job.data.kind == DataKind::kSynthetic) {
    job.data.samples = size();
    job.data.test_samples = size();
    job.data.features = *rc::gen::inRange(1, 10'000);
    job.data.classes = *rc::gen::inRange(2, 1000);
  } else {
    job.data.path = text(20);
  }
  if (job.data.kind == DataKind::kLibsvm) {
    job.data.test_path = maybe(text(5)).value_or("");
    job.data.holdout = job.data.test_path.empty() ? number(1e-9, 0.9) : job.data.holdout;
  }
}

void fill_train(Job& job) {
  job.train.batch = job.cluster.workers + size() / 2;
  job.train.epochs = maybe(size());
  job.train.steps = job.train.epochs ? maybe(size()) : std::optional(size());
  if (!job.phantom()) {
    job.train.target_accuracy = maybe(number(1e-9, 1));
  }
  if (*rc::gen::arbitrary<bool>()) {
    const bool is_same = *rc::gen::arbitrary<bool>();
    job.train.micro_batch.assign(static_cast<std::size_t>(job.cluster.workers), size());
    job.train.micro_batch.back() = is_same ? job.train.micro_batch[0] : size();
  }
  job.train.eval_every = size() - 1;
  job.train.optimizer = *rc::gen::element(OptimizerKind::kSgd, OptimizerKind::kAdam);
  job.train.lr = number(1e-300, 1e-5);
  if (job.train.optimizer == OptimizerKind::kSgd) {
    job.train.momentum = number(0, 1);
  }
  job.train.weight_decay = number(0, 1e300);
}

// A random value that the rule allows, as TOML; empty if there is none.
std::string random_value(const Rule& rule) {
  if (const auto* range = std::get_if<Range>(&rule)) {
    const auto least = static_cast<std::int64_t>(range->min) + (range->above_min ? 1 : 0);
    const double most = std::min(range->max, static_cast<double>(least) + 1'000);
    return std::to_string(
        *rc::gen::inRange(least, std::max(least, static_cast<std::int64_t>(most)) + 1));
  }
  if (const auto* one_of = std::get_if<OneOf>(&rule)) {
    const auto place = *rc::gen::inRange<std::size_t>(0, one_of->choices.size());
    return fmt::format("\"{}\"", one_of->choices[place].name);
  }
  if (std::holds_alternative<YesOrNo>(rule)) {
    return *rc::gen::arbitrary<bool>() ? "true" : "false";
  }
  return {};
}

// Random settings of the method if the method accepts them; otherwise its defaults.
void fill_method(Job& job) {
  const MethodSchema& method = job_schema().method_of(job);
  std::vector<std::string> overrides = {fmt::format("strategy.sync={}", job.strategy.sync),
                                        fmt::format("cluster.workers={}", job.cluster.workers)};
  for (const Key<Job>& key : method.keys) {
    const std::string value = random_value(key.rule);
    if (!value.empty() && *rc::gen::arbitrary<bool>()) {
      overrides.push_back(fmt::format("{}={}", key.name, value));
    }
  }
  const auto drawn = parse_job(job_schema(), "", "job.toml", overrides, Mode::kConfig);
  job.strategy.methods = drawn ? drawn->strategy.methods : MethodOptions{};
  if (method.complete) {
    method.complete(job);
  }
}

void fill_codec(Job& job, const MethodSchema& method) {
  StrategySpec& strategy = job.strategy;
  if (method.exchanges == ExchangeKind::kModels) {
    return;
  }
  strategy.codec = *rc::gen::element(CodecKind::kNone, CodecKind::kFp16, CodecKind::kBf16,
                                     CodecKind::kInt8, CodecKind::kTopk);
  if (strategy.codec != CodecKind::kNone && !method.codec_settings) {
    strategy.error_feedback = *rc::gen::arbitrary<bool>();
    strategy.topk.ratio =
        strategy.codec == CodecKind::kTopk ? number(1e-9, 1) : strategy.topk.ratio;
  }
}

std::vector<int> machines(int count) {
  return *rc::gen::container<std::vector<int>>(static_cast<std::size_t>(count),
                                               rc::gen::inRange(0, 4));
}

void fill_strategy(Job& job) {
  StrategySpec& strategy = job.strategy;
  const auto methods = job_schema().methods();
  strategy.sync = methods[*rc::gen::inRange<std::size_t>(0, methods.size())].name;
  const MethodSchema& method = job_schema().method_of(job);
  if (!method.own_shares) {
    strategy.allocation = *rc::gen::element<std::string>("equal", "static", "adaptive", "dynamic");
  }
  for (int r = 0; r < job.cluster.workers; ++r) {
    strategy.shares.push_back(strategy.allocation == "static" ? number(1e-9, 1e9) : 1);
  }
  if (strategy.allocation == "adaptive") {
    strategy.adaptive.window = size();
    strategy.adaptive.dead_band = number(0, 1);
  }
  if (method.has_servers) {
    strategy.ps.servers = *rc::gen::inRange(1, job.cluster.workers + 1);
    job.cluster.server_bandwidth = maybe(number(1, 1e15));
    if (*rc::gen::arbitrary<bool>()) {
      job.cluster.server_hosts = machines(job.strategy.ps.servers);
    }
  }
  fill_codec(job, method);
  fill_method(job);
}

// The same number for the workers of one machine, of which each has a link.
std::vector<double> one_per_worker(const ClusterSpec& cluster, double min, double max) {
  const bool are_equal = *rc::gen::arbitrary<bool>();
  std::map<int, double> of_machine;
  std::vector<double> values;
  for (int r = 0; r < cluster.workers; ++r) {
    const int host = cluster.hosts.empty() ? r : cluster.hosts[static_cast<std::size_t>(r)];
    const int link = are_equal ? 0 : host;
    values.push_back(of_machine.try_emplace(link, number(min, max)).first->second);
  }
  return values;
}

Latency random_latency(const ClusterSpec& cluster) {
  const auto form =
      *rc::gen::element(Latency::Form::kNumber, Latency::Form::kPerWorker, Latency::Form::kMatrix);
  if (form == Latency::Form::kNumber) {
    return number(0, 1);
  }
  const std::vector<double> sending = one_per_worker(cluster, 0, 1);
  if (form == Latency::Form::kPerWorker) {
    return Latency::per_worker(sending);
  }
  const std::vector<double> receiving = one_per_worker(cluster, 0, 1);
  std::vector<double> matrix;
  for (const double from : sending) {
    std::ranges::transform(receiving, std::back_inserter(matrix),
                           [&](double to) { return from + to; });
  }
  return Latency::matrix(cluster.workers, matrix);
}

void fill_links(ClusterSpec& cluster) {
  if (*rc::gen::arbitrary<bool>()) {
    cluster.hosts = machines(cluster.workers);
  }
  cluster.latency = random_latency(cluster);
  cluster.bandwidth = one_per_worker(cluster, 1, 1e15);
  if (*rc::gen::arbitrary<bool>()) {
    cluster.bandwidth_up = one_per_worker(cluster, 1, 1e15);
  }
  if (*rc::gen::arbitrary<bool>()) {
    cluster.bandwidth_down = one_per_worker(cluster, 1, 1e15);
  }
  cluster.backbone = maybe(number(1, 1e15));
  cluster.tcp_efficiency = number(1e-3, 1);
  cluster.unevenness = number(0, 2);
  cluster.memory_bandwidth = number(1, 1e15);
  cluster.memory_latency = number(0, 1);
}

ClusterEvent random_event(int workers) {
  ClusterEvent event{.at = number(0, 1e12), .worker = *rc::gen::inRange(0, workers)};
  event.kind = *rc::gen::element(EventKind::kSpeed, EventKind::kBandwidth, EventKind::kLatency);
  if (event.kind == EventKind::kSpeed) {
    event.speed = number(1e-6, 1e6);
  } else if (event.kind == EventKind::kBandwidth) {
    event.bandwidth = number(1, 1e15);
  } else {
    event.latency = number(0, 1);
  }
  return event;
}

void fill_cluster(ClusterSpec& cluster) {
  cluster.workers = *rc::gen::inRange(2, 20);
  cluster.unit = number(0, 1);
  cluster.heartbeat = number(1e-3, 1e6);
  cluster.threads = *rc::gen::inRange(1, 1024);
  cluster.isolate = *rc::gen::element(Isolation::kNone, Isolation::kCgroup);
  const bool same_overhead = *rc::gen::arbitrary<bool>();
  for (int r = 0; r < cluster.workers; ++r) {
    cluster.speeds.push_back(number(1e-6, 1e6));
    cluster.overhead.push_back(same_overhead ? 1e-6 : number(0, 1e-6));
  }
  fill_links(cluster);
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i) {
    cluster.slowdowns.push_back({number(0, 1), number(1e-6, 1e6)});
    cluster.events.push_back(random_event(cluster.workers));
  }
  std::ranges::stable_sort(cluster.events, {}, &ClusterEvent::at);
}

Job random_job() {
  Job job;
  job.name = *rc::gen::element<std::string>("a", "größe", "a \"quoted\" \\ name", "x.y = #z");
  job.seed = *rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << 63);
  fill_cluster(job.cluster);
  fill_model_and_data(job);
  fill_train(job);
  fill_strategy(job);
  return job;
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

TEST(ToToml, PrintsTheResolvedJob) {
  const std::vector<std::string> overrides = {
      "train.optimizer=adam", "cluster.unit=0.0005", "cluster.speeds=[1,1,1,0.25]",
      "cluster.slowdown=[{kind='random',probability=0.25,factor=6}]"};
  EXPECT_EQ(
      to_toml(job_schema(), *parse_job(job_schema(), "", "job.toml", overrides, Mode::kConfig)),
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
eval_every = 50
optimizer = "adam"
lr = 0.05
weight_decay = 0

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

[[cluster.slowdown]]
kind = "random"
probability = 0.25
factor = 6
)");
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
        "| `cluster.event[].kind` | `\"speed\"`, `\"bandwidth\"`, `\"latency\"` | `\"speed\"` | ",
        "| `cluster.event[].speed` | number from 1e-06 to 1000000 |  | its speed from then on; "
        "needed for kind = \"speed\" |\n",
        "| `cluster.event[].worker` | integer from 0 to 65535 |  | the worker's rank, counted from "
        "0 "
        "|\n",
        "| `strategy.codec` | `\"none\"`, `\"fp16\"`, `\"bf16\"`, `\"int8\"`, `\"topk\"` | "
        "`\"none\"` | "
        "how numbers are encoded in messages; some methods have another default |\n"}) {
    EXPECT_NE(text.find(row), std::string::npos) << row << text;
  }
}

}  // namespace
}  // namespace motley
