#include "tests/random_job.h"

#include <fmt/format.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "job/parse.h"
#include "sync/registry.h"

namespace motley {
namespace {

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
  if (*rc::gen::arbitrary<bool>()) {
    job.train.checkpoint_every = size() - 1;
  }
  job.train.checkpoint_keep = *rc::gen::inRange(1, 100);
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

void fill_strategy(Job& job, std::string_view method_name) {
  StrategySpec& strategy = job.strategy;
  strategy.sync = method_name;
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
  if (*rc::gen::inRange(0, 8) == 0) {
    return {.at = number(0, 1e12), .kind = EventKind::kDies, .server = 0};
  }
  ClusterEvent event{.at = number(0, 1e12), .worker = *rc::gen::inRange(0, workers)};
  event.kind = *rc::gen::element(EventKind::kSpeed, EventKind::kBandwidth, EventKind::kLatency,
                                 EventKind::kDies, EventKind::kLeaves, EventKind::kJoins,
                                 EventKind::kFreezes);
  if (event.kind == EventKind::kSpeed) {
    event.speed = number(1e-6, 1e6);
  } else if (event.kind == EventKind::kBandwidth) {
    event.bandwidth = number(1, 1e15);
  } else if (event.kind == EventKind::kLatency) {
    event.latency = number(0, 1);
  } else if (event.kind == EventKind::kFreezes) {
    event.seconds = number(1e-3, 1e6);
  } else if (event.kind == EventKind::kJoins) {
    event.worker = *rc::gen::inRange(0, 65536);
  }
  return event;
}

void fill_elastic(ClusterSpec& cluster) {
  cluster.elastic = *rc::gen::arbitrary<bool>();
  cluster.min_workers = *rc::gen::inRange(1, cluster.workers + 1);
  cluster.respawn = *rc::gen::inRange(0, 1'000'001);
  cluster.rejoin_timeout = number(0, 1e6);
  if (*rc::gen::arbitrary<bool>()) {
    cluster.churn = {.mtbf = number(1e-3, 1e12),
                     .mttr = number(1e-3, 1e12),
                     .seed = *rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << 63)};
  }
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
  fill_elastic(cluster);
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i) {
    cluster.slowdowns.push_back({number(0, 1), number(1e-6, 1e6)});
    cluster.events.push_back(random_event(cluster.workers));
  }
  std::ranges::stable_sort(cluster.events, {}, &ClusterEvent::at);
}

}  // namespace

Job random_job() {
  const auto methods = job_schema().methods();
  return random_job(methods[*rc::gen::inRange<std::size_t>(0, methods.size())].name);
}

Job random_job(std::string_view method) {
  Job job;
  job.name = *rc::gen::element<std::string>("a", "größe", "a \"quoted\" \\ name", "x.y = #z");
  job.seed = *rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << 63);
  fill_cluster(job.cluster);
  fill_model_and_data(job);
  fill_train(job);
  fill_strategy(job, method);
  return job;
}

}  // namespace motley
