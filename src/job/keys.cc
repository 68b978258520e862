#include "job/keys.h"

#include <type_traits>
#include <utility>

#include "job/choices.h"

namespace motley {
namespace {

// at<Job, &Job::train, &TrainSpec::batch>(job) is job.train.batch: a fold over `.*`.
template <class Record, auto... Members>
auto& at(Record& record) {
  return (record.*....*Members);
}
template <auto... Members>
constexpr Place<Job> place_in_job() {
  using Value = std::remove_reference_t<decltype(at<Job, Members...>(std::declval<Job&>()))>;
  if constexpr (std::is_enum_v<Value>) {
    return EnumPlace<Job>{
        [](const Job& job) { return static_cast<int>(at<const Job, Members...>(job)); },
        [](Job& job, int value) { at<Job, Members...>(job) = static_cast<Value>(value); }};
  } else {
    return &at<Job, Members...>;
  }
}
template <auto... Members>
constexpr Place<Job> job = place_in_job<Members...>();
template <auto Member>
constexpr auto slowdown = &at<RandomSlowdown, Member>;
template <auto Member>
constexpr auto event = &at<SpeedEvent, Member>;

// The bounds keep products of two counts (steps * batch, samples * epochs) within 64 bits, and
// times of a run well below Node::kForever.
constexpr Range kSize{1, 1e9};
constexpr Range kCount{0, 1e9};
constexpr Range kSeconds{0, 1e6};
constexpr Range kSpeed{1e-6, 1e6};
constexpr Range kAtLeast0{0};
constexpr Range kAbove0{.min = 0, .above_min = true};

constexpr Belongs kTorchscript{
    [](const Job& j, const MethodSchema&) { return j.model.kind == ModelKind::kTorchscript; },
    "model.kind = \"torchscript\"", true};
constexpr Belongs kPhantom{[](const Job& j, const MethodSchema&) { return j.phantom(); },
                           "model.kind = \"phantom\"", true};
constexpr Belongs kFiles{[](const Job& j, const MethodSchema&) {
                           return j.data.kind != DataKind::kSynthetic && !j.of_program();
                         },
                         "data.kind = \"idx\", \"cifar10\" or \"libsvm\"", true};
constexpr Belongs kLibsvm{
    [](const Job& j, const MethodSchema&) { return j.data.kind == DataKind::kLibsvm; },
    "data.kind = \"libsvm\""};
constexpr Belongs kHoldout{[](const Job& j, const MethodSchema&) {
                             return j.data.kind == DataKind::kLibsvm && j.data.test_path.empty();
                           },
                           "data.kind = \"libsvm\" without data.test_path"};
constexpr Belongs kSynthetic{
    [](const Job& j, const MethodSchema&) { return j.data.kind == DataKind::kSynthetic; },
    "data.kind = \"synthetic\""};
constexpr Belongs kComputes{[](const Job& j, const MethodSchema&) { return !j.phantom(); },
                            "models other than \"phantom\""};
constexpr Belongs kBuilt{[](const Job& j, const MethodSchema&) { return !j.of_program(); },
                         "models that motley builds (a program brings its own optimizer)"};
constexpr Belongs kSgd{[](const Job& j, const MethodSchema&) {
                         return j.train.optimizer == OptimizerKind::kSgd && !j.of_program();
                       },
                       "train.optimizer = \"sgd\""};

// A job may contain settings of an allocation that it does not use, so that `--set
// strategy.allocation` or a variant can choose it.
constexpr Belongs kStatic{
    [](const Job& j, const MethodSchema&) { return j.strategy.allocation == "static"; },
    "strategy.allocation = \"static\"", true, true};
constexpr Belongs kAdaptive{
    [](const Job& j, const MethodSchema&) { return j.strategy.allocation == "adaptive"; },
    "strategy.allocation = \"adaptive\"", false, true};
constexpr Belongs kServers{
    [](const Job&, const MethodSchema& method) { return method.has_servers; },
    "methods with parameter servers", false, true};
constexpr Belongs kLossy{
    [](const Job& j, const MethodSchema& method) {
      return j.strategy.codec != CodecKind::kNone && !method.codec_settings;
    },
    "a strategy.codec other than \"none\", unless the method has its own codec settings", false,
    true};
constexpr Belongs kTopk{[](const Job& j, const MethodSchema& method) {
                          return j.strategy.codec == CodecKind::kTopk && !method.codec_settings;
                        },
                        "strategy.codec = \"topk\", unless the method chooses the ratio itself",
                        false, true};

constexpr Key<Job> kKeysBeforeMethods[] = {
    {"name", job<&Job::name>, DirectoryName{}, "names the run and its directory"},
    {"seed", job<&Job::seed>, kAtLeast0,
     "seed of all random numbers: the same seed gives the same run"},

    {"model.kind", job<&Job::model, &ModelSpec::kind>, OneOf{"a kind of model", kModelKinds},
     "the model to train"},
    {"model.path", job<&Job::model, &ModelSpec::path>, AnyPath{},
     "a module saved by `torch.jit.save`", kTorchscript},
    {"model.parameters", job<&Job::model, &ModelSpec::parameters>, Range{1, 1e12},
     "number of parameters of a model that computes nothing (simulate)", kPhantom},

    {"data.kind", job<&Job::data, &DataSpec::kind>, OneOf{"a kind of data", kDataKinds},
     "the data to train on"},
    {"data.path", job<&Job::data, &DataSpec::path>, AnyPath{},
     "`idx`, `cifar10`: a folder; `libsvm`: a file", kFiles},
    {"data.test_path", job<&Job::data, &DataSpec::test_path>, AnyPath{}, "a file to test with",
     kLibsvm},
    {"data.holdout", job<&Job::data, &DataSpec::holdout>, Range{0, 0.9, true},
     "part of the samples kept for testing", kHoldout},
    {"data.samples", job<&Job::data, &DataSpec::samples>, kSize, "samples to train with",
     kSynthetic},
    {"data.test_samples", job<&Job::data, &DataSpec::test_samples>, kSize, "samples to test with",
     kSynthetic},
    {"data.features", job<&Job::data, &DataSpec::features>, Range{1, 1e7}, "numbers per sample",
     kSynthetic},
    {"data.classes", job<&Job::data, &DataSpec::classes>, Range{2, 1e6}, "number of classes",
     kSynthetic},

    {"train.batch", job<&Job::train, &TrainSpec::batch>, kSize,
     "samples in one step of the whole cluster"},
    {"train.epochs", job<&Job::train, &TrainSpec::epochs>, kSize,
     "passes over the data; 1 if `train.steps` is not given either"},
    {"train.steps", job<&Job::train, &TrainSpec::steps>, kSize,
     "steps of `train.batch` samples; the limit reached first ends the run"},
    {"train.target_accuracy", job<&Job::train, &TrainSpec::target_accuracy>, Range{0, 1, true},
     "ends the run when an evaluation reaches it", kComputes},
    {"train.micro_batch", job<&Job::train, &TrainSpec::micro_batch>, PerWorker{kSize, {}, true},
     "the most samples that a worker computes at once, to limit memory; a larger share is computed "
     "in parts, each with the worker's `cluster.overhead`; the whole share if not given"},
    {"train.eval_every", job<&Job::train, &TrainSpec::eval_every>, kCount,
     "steps between evaluations; 0 = only at the end"},
    {"train.optimizer", job<&Job::train, &TrainSpec::optimizer>, OneOf{"an optimizer", kOptimizers},
     "the optimizer that updates the model", kBuilt},
    {"train.lr", job<&Job::train, &TrainSpec::lr>, kAbove0, "learning rate", kBuilt},
    {"train.momentum", job<&Job::train, &TrainSpec::momentum>, Range{0, 1},
     "momentum of the optimizer", kSgd},
    {"train.weight_decay", job<&Job::train, &TrainSpec::weight_decay>, kAtLeast0,
     "weight decay: pulls every parameter towards 0", kBuilt},

    {"strategy.sync", job<&Job::strategy, &StrategySpec::sync>,
     OneOf{"a strategy", {}, "the name of a method (see `motley strategies`)"},
     "the method: with whom a worker averages, and when"},
    {"strategy.allocation", job<&Job::strategy, &StrategySpec::allocation>,
     OneOf{"an allocation", kAllocations}, "how much each worker computes"},
    {"strategy.shares", job<&Job::strategy, &StrategySpec::shares>,
     PerWorker{{.min = 0, .max = 1e9, .above_min = true}, 1, false},
     "proportions in which the workers share a step", kStatic},
    {"strategy.codec", job<&Job::strategy, &StrategySpec::codec>, OneOf{"a codec", kCodecs},
     "how numbers are encoded in messages; some methods have another default"},
    {"strategy.error_feedback", job<&Job::strategy, &StrategySpec::error_feedback>, YesOrNo{},
     "what the codec lost is added to the next exchange", kLossy},
    {"strategy.adaptive.window",
     job<&Job::strategy, &StrategySpec::adaptive, &AdaptiveSpec::window>, kSize,
     "steps between two decisions about the shares", kAdaptive},
    {"strategy.adaptive.dead_band",
     job<&Job::strategy, &StrategySpec::adaptive, &AdaptiveSpec::dead_band>, Range{0, 1},
     "shares stay if changing them would save less than this fraction of a step's time", kAdaptive},
    {"strategy.ps.servers", job<&Job::strategy, &StrategySpec::ps, &PsSpec::servers>,
     Range{1, 65536}, "server processes; each holds a part of the parameters", kServers},
};

constexpr Key<Job> kKeysAfterMethods[] = {
    {"strategy.topk.ratio", job<&Job::strategy, &StrategySpec::topk, &TopkSpec::ratio>,
     Range{0, 1, true}, "fraction of the entries that is sent", kTopk},

    {"cluster.workers", job<&Job::cluster, &ClusterSpec::workers>, Range{1, 65536},
     "number of workers"},
    {"cluster.unit", job<&Job::cluster, &ClusterSpec::unit>, kSeconds,
     "seconds for one sample at speed 1; 0 = no pacing (train only)"},
    {"cluster.overhead", job<&Job::cluster, &ClusterSpec::overhead>, PerWorker{kSeconds, 0, true},
     "fixed seconds per step, whatever its size; per part of it with `train.micro_batch`"},
    {"cluster.speeds", job<&Job::cluster, &ClusterSpec::speeds>, PerWorker{kSpeed, 1, false},
     "relative speeds: 2 computes a sample in half the time of 1"},
    {"cluster.latency", job<&Job::cluster, &ClusterSpec::latency>, kSeconds,
     "seconds of delay from worker to worker (simulate)"},
    {"cluster.bandwidth", job<&Job::cluster, &ClusterSpec::bandwidth>,
     PerWorker{{1, 1e15}, 1.25e9, true}, "bytes per second of every worker's link (simulate)"},
    {"cluster.server_bandwidth", job<&Job::cluster, &ClusterSpec::server_bandwidth>, Range{1, 1e15},
     "bytes per second of every server's link; that of the fastest worker's if not given "
     "(simulate)",
     kServers},
    {"cluster.heartbeat", job<&Job::cluster, &ClusterSpec::heartbeat>, Range{0, 1e6, true},
     "seconds of silence after which a worker is lost; twice as many for the coordinator (train)"},
    {"cluster.threads", job<&Job::cluster, &ClusterSpec::threads>, Range{1, 1024},
     "compute threads per worker (train)"},
    {"cluster.isolate", job<&Job::cluster, &ClusterSpec::isolate>,
     OneOf{"a kind of isolation", kIsolations},
     "how `train` gives workers their speeds: by pacing, or by CPU quotas, which need "
     "permission to use cgroups"},
    {"cluster.slowdown", job<&Job::cluster, &ClusterSpec::slowdowns>, Tables{},
     "random slowdowns; any number of them"},
    {"cluster.event", job<&Job::cluster, &ClusterSpec::events>, Tables{},
     "changes of a worker's speed during the run; any number of them"},
};

constexpr Key<RandomSlowdown> kSlowdownKeys[] = {
    {"kind", {}, OneOf{"a kind of slowdown", kSlowdownKinds}, "any step of any worker may be slow"},
    {"probability", slowdown<&RandomSlowdown::probability>, Range{0, 1},
     "probability that a step is slow"},
    {"factor", slowdown<&RandomSlowdown::factor>, Range{1e-6, 1e6},
     "how many times as long such a step takes"},
};

constexpr Key<SpeedEvent> kEventKeys[] = {
    {"at", event<&SpeedEvent::at>, Range{0, 1e12}, "seconds since the run began"},
    {"worker", event<&SpeedEvent::worker>, Range{0, 65535}, "the worker's rank, counted from 0"},
    {"speed", event<&SpeedEvent::speed>, kSpeed, "its speed from then on"},
};

}  // namespace

std::span<const Key<Job>> keys_before_methods() { return kKeysBeforeMethods; }
std::span<const Key<Job>> keys_after_methods() { return kKeysAfterMethods; }

template <>
std::span<const Key<RandomSlowdown>> keys() {
  return kSlowdownKeys;
}
template <>
std::span<const Key<SpeedEvent>> keys() {
  return kEventKeys;
}

std::string_view section_of(std::string_view name) {
  const auto dot = name.rfind('.');
  return dot == name.npos ? std::string_view{} : name.substr(0, dot);
}

std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }

}  // namespace motley
