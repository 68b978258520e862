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
template <class Record, auto... Members>
constexpr Place<Record> place_in() {
  using Value = std::remove_reference_t<decltype(at<Record, Members...>(std::declval<Record&>()))>;
  if constexpr (std::is_enum_v<Value>) {
    return EnumPlace<Record>{
        [](const Record& record) { return static_cast<int>(at<const Record, Members...>(record)); },
        [](Record& record, int value) {
          at<Record, Members...>(record) = static_cast<Value>(value);
        }};
  } else {
    return &at<Record, Members...>;
  }
}
template <auto... Members>
constexpr Place<Job> job = place_in<Job, Members...>();
template <auto Member>
constexpr Place<RandomSlowdown> slowdown = place_in<RandomSlowdown, Member>();
template <auto Member>
constexpr Place<ClusterEvent> event = place_in<ClusterEvent, Member>();

// The bounds keep products of two counts (steps * batch, samples * epochs) within 64 bits, and
// times of a run well below Node::kForever.
constexpr Range kSize{1, 1e9};
constexpr Range kCount{0, 1e9};
constexpr Range kSeconds{0, 1e6};
constexpr Range kTime{.min = 0, .max = 1e12, .above_min = true};
constexpr Range kSpeed{1e-6, 1e6};
constexpr Range kBytesPerSecond{1, 1e15};
constexpr Range kHost{0, 1e6};
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
constexpr Belongs kLoader{
    [](const Job& j, const MethodSchema&) { return !j.phantom() && j.train.loader.workers > 0; },
    "train.loader.workers above 0", false, true};
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

// [cluster.churn] exists if one of its keys is given.
constexpr Belongs kChurn{.exists = [](const Job& j) { return j.cluster.churn.has_value(); }};
template <auto Member>
auto& made_churn(Job& j) {
  if (!j.cluster.churn) {
    j.cluster.churn.emplace();
  }
  return j.cluster.churn.value().*Member;
}

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
    {"train.order", job<&Job::train, &TrainSpec::order>, OneOf{"an order of the samples", kOrders},
     "order of the samples in an epoch: `shuffled`, as in the data set (`sequential`), or cut into "
     "as many `streams` as a batch has samples, one for each place in the batch; `program`: set by "
     "a program"},
    {"train.drop_last", job<&Job::train, &TrainSpec::drop_last>, YesOrNo{},
     "leaves out the rest of an epoch that is less than a batch"},
    {"train.sticky", job<&Job::train, &TrainSpec::sticky>, YesOrNo{},
     "every place in the batch stays with its worker; refused where that is not possible"},
    {"train.min_share", job<&Job::train, &TrainSpec::min_share>, Range{1, 1e6},
     "no worker gets fewer samples for a step, unless it gets none; 2 for BatchNorm"},
    {"train.loader.workers", job<&Job::train, &TrainSpec::loader, &LoaderSpec::workers>,
     Range{0, 256}, "threads of each worker that fetch samples while it computes others; 0: none",
     kComputes},
    {"train.loader.ahead", job<&Job::train, &TrainSpec::loader, &LoaderSpec::ahead>, Range{1, 1000},
     "for how many steps after the current one they fetch samples", kLoader},
    {"train.eval_every", job<&Job::train, &TrainSpec::eval_every>, kCount,
     "steps between evaluations; 0 = only at the end"},
    {"train.eval_every_epochs", job<&Job::train, &TrainSpec::eval_every_epochs>, kCount,
     "epochs between evaluations, in place of `train.eval_every`; 0 = `train.eval_every` counts"},
    {"train.checkpoint_every", job<&Job::train, &TrainSpec::checkpoint_every>, CountOrAuto{kCount},
     "steps between checkpoints; 0 = none; `auto`: about every 10 minutes in `train`, none in "
     "`simulate`"},
    {"train.checkpoint_keep", job<&Job::train, &TrainSpec::checkpoint_keep>, Range{1, 1e6},
     "how many of the newest checkpoints stay, besides the one with the best accuracy"},
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
    {"cluster.hosts", job<&Job::cluster, &ClusterSpec::hosts>, PerWorker{kHost, {}, true},
     "the number of the machine that each worker is on; workers of one machine share its link; "
     "worker `i` has machine `i` to itself if not given (simulate)"},
    {"cluster.server_hosts", job<&Job::cluster, &ClusterSpec::server_hosts>, PerServer{kHost},
     "the number of the machine that each server is on, counted as in `cluster.hosts`; each server "
     "has a machine of its own if not given (simulate)",
     kServers},
    {"cluster.latency", job<&Job::cluster, &ClusterSpec::latency>, PerLink{kSeconds},
     "seconds of delay from machine to machine; one per worker: the larger of the sender's and the "
     "receiver's; a matrix: a row for each sender, a column for each receiver (simulate)"},
    {"cluster.bandwidth", job<&Job::cluster, &ClusterSpec::bandwidth>,
     PerWorker{kBytesPerSecond, 1.25e9, true},
     "bytes per second of every worker's link, in each direction (simulate)"},
    {"cluster.bandwidth_up", job<&Job::cluster, &ClusterSpec::bandwidth_up>,
     PerWorker{kBytesPerSecond, {}, true},
     "bytes per second that a link can send; replaces `cluster.bandwidth` in this direction "
     "(simulate)"},
    {"cluster.bandwidth_down", job<&Job::cluster, &ClusterSpec::bandwidth_down>,
     PerWorker{kBytesPerSecond, {}, true},
     "bytes per second that a link can receive; replaces `cluster.bandwidth` in this direction "
     "(simulate)"},
    {"cluster.server_bandwidth", job<&Job::cluster, &ClusterSpec::server_bandwidth>,
     kBytesPerSecond,
     "bytes per second of the link of a machine that only has servers; that of the fastest "
     "worker's if not given (simulate)",
     kServers},
    {"cluster.backbone", job<&Job::cluster, &ClusterSpec::backbone>, kBytesPerSecond,
     "bytes per second of all messages between machines together; no limit if not given "
     "(simulate)"},
    {"cluster.tcp_efficiency", job<&Job::cluster, &ClusterSpec::tcp_efficiency>, Range{1e-3, 1},
     "the part of a link's bandwidth that messages get; headers and acknowledgements take the rest "
     "(simulate)"},
    {"cluster.unevenness", job<&Job::cluster, &ClusterSpec::unevenness>, Range{0, 2},
     "how unevenly connections share a link: standard deviation of the logarithm of their shares "
     "(simulate)"},
    {"cluster.memory_bandwidth", job<&Job::cluster, &ClusterSpec::memory_bandwidth>,
     kBytesPerSecond,
     "bytes per second at which a machine moves numbers in its memory, averages and encodes; that "
     "takes no time if not given (simulate)"},
    {"cluster.memory_latency", job<&Job::cluster, &ClusterSpec::memory_latency>, kSeconds,
     "seconds of delay of messages within a machine (simulate)"},
    {"cluster.heartbeat", job<&Job::cluster, &ClusterSpec::heartbeat>, Range{0, 1e6, true},
     "seconds after which a silent worker is lost; six times as many for the coordinator (train)"},
    {"cluster.threads", job<&Job::cluster, &ClusterSpec::threads>, Range{1, 1024},
     "compute threads per worker (train)"},
    {"cluster.isolate", job<&Job::cluster, &ClusterSpec::isolate>,
     OneOf{"a kind of isolation", kIsolations},
     "how `train` gives workers their speeds: by pacing, or by CPU quotas, which need "
     "permission to use cgroups"},
    {"cluster.elastic", job<&Job::cluster, &ClusterSpec::elastic>, YesOrNo{},
     "whether the run goes on when a worker is lost; if not, it ends"},
    {"cluster.min_workers", job<&Job::cluster, &ClusterSpec::min_workers>, Range{1, 65536},
     "with fewer workers the run waits for others, and ends if none come in time"},
    {"cluster.respawn", job<&Job::cluster, &ClusterSpec::respawn>, Range{0, 1e6},
     "how often each lost worker or server is started again"},
    {"cluster.rejoin_timeout", job<&Job::cluster, &ClusterSpec::rejoin_timeout>, kSeconds,
     "seconds that a run with fewer than `cluster.min_workers` workers waits for others"},
    {"cluster.slowdown", job<&Job::cluster, &ClusterSpec::slowdowns>, Tables{},
     "random slowdowns; any number of them"},
    {"cluster.event", job<&Job::cluster, &ClusterSpec::events>, Tables{},
     "what happens to workers and servers during the run: changes of speed or link, losses, "
     "freezes, joins; any number of them"},

    {"cluster.churn.mtbf", &made_churn<&Churn::mtbf>, kTime,
     "mean seconds until a worker dies, of each worker; random deaths and returns need this and "
     "`cluster.churn.mttr`",
     kChurn},
    {"cluster.churn.mttr", &made_churn<&Churn::mttr>, kTime,
     "mean seconds until a worker joins in the place of one that has died", kChurn},
    {"cluster.churn.seed", &made_churn<&Churn::seed>, kAtLeast0,
     "seed of these random times; 1 if not given", kChurn},
};

// Of entries in a list of tables.
constexpr Belongs kNeeded{.needed = true};
constexpr Belongs needed_for(std::string_view kind) { return {.needed = true, .kind = kind}; }

constexpr Key<RandomSlowdown> kSlowdownKeys[] = {
    {"kind",
     {},
     OneOf{"a kind of slowdown", kSlowdownKinds},
     "any step of any worker may be slow",
     kNeeded},
    {"probability", slowdown<&RandomSlowdown::probability>, Range{0, 1},
     "probability that a step is slow", kNeeded},
    {"factor", slowdown<&RandomSlowdown::factor>, Range{1e-6, 1e6},
     "how many times as long such a step takes", kNeeded},
};

constexpr Key<ClusterEvent> kEventKeys[] = {
    {"at", event<&ClusterEvent::at>, Range{0, 1e12}, "seconds since the run began", kNeeded},
    {"kind", event<&ClusterEvent::kind>, OneOf{"a kind of event", kEventKinds},
     "what happens: the worker's speed changes, or the link of its machine (simulate); the worker "
     "dies without a word, leaves in order, joins, or stands still"},
    {"worker",
     event<&ClusterEvent::worker>,
     Range{0, 65535},
     "the worker's number, counted from 0; one that joins may be beyond `cluster.workers`",
     {.needed = true, .instead_of = "server"}},
    {"server",
     event<&ClusterEvent::server>,
     Range{0, 65535},
     "instead of `worker`: the number of a parameter server that dies or stands still, counted "
     "from 0",
     {.instead_of = "worker"}},
    {"speed", event<&ClusterEvent::speed>, kSpeed, "its speed from then on", needed_for("speed")},
    {"bandwidth", event<&ClusterEvent::bandwidth>, kBytesPerSecond,
     "bytes per second of the link from then on, in each direction", needed_for("bandwidth")},
    {"latency", event<&ClusterEvent::latency>, kSeconds,
     "seconds of delay of the link from then on", needed_for("latency")},
    {"seconds", event<&ClusterEvent::seconds>, Range{0, 1e6, true}, "how long it stands still",
     needed_for("freezes")},
};

}  // namespace

std::span<const Key<Job>> keys_before_methods() { return kKeysBeforeMethods; }
std::span<const Key<Job>> keys_after_methods() { return kKeysAfterMethods; }

template <>
std::span<const Key<RandomSlowdown>> keys() {
  return kSlowdownKeys;
}
template <>
std::span<const Key<ClusterEvent>> keys() {
  return kEventKeys;
}

std::string_view section_of(std::string_view name) {
  const auto dot = name.rfind('.');
  return dot == name.npos ? std::string_view{} : name.substr(0, dot);
}

std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }

}  // namespace motley
