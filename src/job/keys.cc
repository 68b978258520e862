#include "job/keys.h"

#include <algorithm>

#include "job/suggest.h"

namespace motley {
namespace {

// at<Job, &Job::train, &TrainSpec::batch>(job) is job.train.batch: a fold over `.*`.
template <class Record, auto... Members>
auto& at(Record& record) {
  return (record.*....*Members);
}
template <auto... Members>
constexpr auto job = &at<Job, Members...>;
template <auto Member>
constexpr auto slowdown = &at<RandomSlowdown, Member>;
template <auto Member>
constexpr auto event = &at<SpeedEvent, Member>;

template <const auto& List>
std::span<const Choice> fixed() {
  return List;
}

// Bounds of counts and times keep products of two (steps * batch, samples * epochs) inside 64 bits,
// and moments of a run well below Node::kForever.
constexpr Range kSize{1, 1e9};
constexpr Range kCount{0, 1e9};
constexpr Range kIterations{0, 1000};  // queues have room for as many models
constexpr Range kSeconds{0, 1e6};
constexpr Range kSpeed{1e-6, 1e6};
constexpr Range kAtLeast0{0};
constexpr Range kAbove0{.min = 0, .above_min = true};

constexpr Belongs kTorchscript{[](const Job& j) { return j.model.kind == "torchscript"; },
                               "model.kind = \"torchscript\"", true};
constexpr Belongs kPhantom{[](const Job& j) { return j.phantom(); }, "model.kind = \"phantom\"",
                           true};
constexpr Belongs kFiles{[](const Job& j) { return j.data.kind != "synthetic" && !j.of_program(); },
                         "data.kind = \"idx\", \"cifar10\" or \"libsvm\"", true};
constexpr Belongs kLibsvm{[](const Job& j) { return j.data.kind == "libsvm"; },
                          "data.kind = \"libsvm\""};
constexpr Belongs kHoldout{
    [](const Job& j) { return j.data.kind == "libsvm" && j.data.test_path.empty(); },
    "data.kind = \"libsvm\" without data.test_path"};
constexpr Belongs kSynthetic{[](const Job& j) { return j.data.kind == "synthetic"; },
                             "data.kind = \"synthetic\""};
constexpr Belongs kEvaluated{[](const Job& j) { return !j.phantom(); },
                             "models that compute, which a phantom does not"};
constexpr Belongs kBuilt{[](const Job& j) { return !j.of_program(); },
                         "models that motley builds: a program has an optimizer of its own"};
constexpr Belongs kMicroBatch{[](const Job& j) { return !j.phantom() && !j.of_program(); },
                              "models that motley builds and that compute"};
constexpr Belongs kSgd{[](const Job& j) { return j.train.optimizer == "sgd" && !j.of_program(); },
                       "train.optimizer = \"sgd\""};

// Settings of one allocation may stand beside another one, so that `--set strategy.allocation` or a
// variant can choose.
constexpr Belongs kStatic{[](const Job& j) { return j.strategy.allocation == "static"; },
                          "strategy.allocation = \"static\"", true, true};
constexpr Belongs kAdaptive{[](const Job& j) { return j.strategy.allocation == "adaptive"; },
                            "strategy.allocation = \"adaptive\"", false, true};
constexpr Belongs kPartialReduce{[](const Job& j) { return j.strategy.sync == "partial_reduce"; },
                                 "strategy.sync = \"partial_reduce\"", false, true};
constexpr Belongs kHop{[](const Job& j) { return j.strategy.sync == "hop"; },
                       "strategy.sync = \"hop\"", false, true};
constexpr Belongs kHopEdges{
    [](const Job& j) { return j.strategy.sync == "hop" && j.strategy.hop.graph == "edges"; },
    "strategy.hop.graph = \"edges\"", true, true};
constexpr Belongs kAdPsgd{[](const Job& j) { return j.strategy.sync == "ad_psgd"; },
                          "strategy.sync = \"ad_psgd\"", false, true};
constexpr Belongs kServers{
    [](const Job& j) { return j.strategy.has_servers(); },
    "strategy.sync = \"ps_bsp\", \"ps_asp\", \"ps_ssp\", \"adsp\" or \"ashl\"", false, true};
constexpr Belongs kSsp{[](const Job& j) { return j.strategy.sync == "ps_ssp"; },
                       "strategy.sync = \"ps_ssp\"", false, true};
constexpr Belongs kAdsp{[](const Job& j) { return j.strategy.sync == "adsp"; },
                        "strategy.sync = \"adsp\"", false, true};
constexpr Belongs kAshl{[](const Job& j) { return j.strategy.sync == "ashl"; },
                        "strategy.sync = \"ashl\"", false, true};
constexpr Belongs kLocalSgd{[](const Job& j) { return j.strategy.sync == "local_sgd"; },
                            "strategy.sync = \"local_sgd\"", false, true};
constexpr Belongs kLossy{
    [](const Job& j) { return j.strategy.codec != "none" && j.strategy.sync != "ashl"; },
    "a strategy.codec other than \"none\" (strategy.ashl has one of its own)", false, true};
constexpr Belongs kTopk{
    [](const Job& j) { return j.strategy.codec == "topk" && j.strategy.sync != "ashl"; },
    "strategy.codec = \"topk\" (strategy.ashl finds its own)", false, true};

constexpr Key<Job> kJobKeys[] = {
    {"name", job<&Job::name>, DirectoryName{}, "names the run and its directory"},
    {"seed", job<&Job::seed>, kAtLeast0, "one seed, one run: every random number follows from it"},

    {"model.kind", job<&Job::model, &ModelSpec::kind>, OneOf{"a kind of model", fixed<kModelKinds>},
     "what is trained"},
    {"model.path", job<&Job::model, &ModelSpec::path>, AnyPath{},
     "a module saved by `torch.jit.save`", kTorchscript},
    {"model.parameters", job<&Job::model, &ModelSpec::parameters>, Range{1, 1e12},
     "size of a model without arithmetic, in floats (simulate)", kPhantom},

    {"data.kind", job<&Job::data, &DataSpec::kind>, OneOf{"a kind of data", fixed<kDataKinds>},
     "what it is trained on"},
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
    {"data.features", job<&Job::data, &DataSpec::features>, Range{1, 1e7}, "numbers in a sample",
     kSynthetic},
    {"data.classes", job<&Job::data, &DataSpec::classes>, Range{2, 1e6}, "classes of samples",
     kSynthetic},

    {"train.batch", job<&Job::train, &TrainSpec::batch>, kSize,
     "samples in one step of the whole cluster"},
    {"train.epochs", job<&Job::train, &TrainSpec::epochs>, kSize,
     "passes over the data; 1 when `train.steps` is not given either"},
    {"train.steps", job<&Job::train, &TrainSpec::steps>, kSize,
     "steps of `train.batch` samples; the limit reached first ends the run"},
    {"train.target_accuracy", job<&Job::train, &TrainSpec::target_accuracy>, Range{0, 1, true},
     "ends the run when an evaluation reaches it", kEvaluated},
    {"train.micro_batch", job<&Job::train, &TrainSpec::micro_batch>, kSize,
     "samples computed at once: bounds the memory of a large share; all of it when not given",
     kMicroBatch},
    {"train.eval_every", job<&Job::train, &TrainSpec::eval_every>, kCount,
     "steps between evaluations; 0 = only at the end"},
    {"train.optimizer", job<&Job::train, &TrainSpec::optimizer>,
     OneOf{"an optimizer", fixed<kOptimizers>}, "how a gradient changes the model", kBuilt},
    {"train.lr", job<&Job::train, &TrainSpec::lr>, kAbove0, "learning rate", kBuilt},
    {"train.momentum", job<&Job::train, &TrainSpec::momentum>, Range{0, 1}, "of the optimizer",
     kSgd},
    {"train.weight_decay", job<&Job::train, &TrainSpec::weight_decay>, kAtLeast0,
     "pull of every parameter towards 0", kBuilt},

    {"strategy.sync", job<&Job::strategy, &StrategySpec::sync>, OneOf{"a strategy", sync_methods},
     "with whom a worker averages, and when"},
    {"strategy.allocation", job<&Job::strategy, &StrategySpec::allocation>,
     OneOf{"an allocation", fixed<kAllocations>}, "how much each worker computes"},
    {"strategy.shares", job<&Job::strategy, &StrategySpec::shares>,
     PerWorker{{.min = 0, .max = 1e9, .above_min = true}, 1, false},
     "in what proportion the workers share a step", kStatic},
    {"strategy.codec", job<&Job::strategy, &StrategySpec::codec>, OneOf{"a codec", fixed<kCodecs>},
     "in what form numbers travel; for `ashl` the default is `\"topk\"`"},
    {"strategy.error_feedback", job<&Job::strategy, &StrategySpec::error_feedback>, YesOrNo{},
     "what the codec lost travels with the next exchange", kLossy},
    {"strategy.adaptive.window",
     job<&Job::strategy, &StrategySpec::adaptive, &AdaptiveSpec::window>, kSize,
     "steps between two looks at the shares", kAdaptive},
    {"strategy.adaptive.dead_band",
     job<&Job::strategy, &StrategySpec::adaptive, &AdaptiveSpec::dead_band>, Range{0, 1},
     "gains below this part of a step's time do not change them", kAdaptive},
    {"strategy.partial_reduce.group",
     job<&Job::strategy, &StrategySpec::partial_reduce, &PartialReduceSpec::group>, Range{2, 65536},
     "workers that average together", kPartialReduce},
    {"strategy.partial_reduce.weights",
     job<&Job::strategy, &StrategySpec::partial_reduce, &PartialReduceSpec::weights>,
     OneOf{"a way to weigh models", fixed<kGroupWeights>},
     "all models of a group alike, or the stale ones less", kPartialReduce},
    {"strategy.partial_reduce.dynamic_rule",
     job<&Job::strategy, &StrategySpec::partial_reduce, &PartialReduceSpec::dynamic_rule>,
     OneOf{"a rule of dynamic weights", fixed<kDynamicRules>},
     "how dynamic weights follow from staleness: `alpha` to its power, or a moving average's",
     kPartialReduce},
    {"strategy.partial_reduce.alpha",
     job<&Job::strategy, &StrategySpec::partial_reduce, &PartialReduceSpec::alpha>,
     Range{0, 1, true}, "what one iteration of staleness leaves of a dynamic weight",
     kPartialReduce},
    {"strategy.partial_reduce.window",
     job<&Job::strategy, &StrategySpec::partial_reduce, &PartialReduceSpec::window>, kSize,
     "groups in a row that must connect all workers; 10 iterations of each when not given",
     kPartialReduce},
    {"strategy.partial_reduce.filter",
     job<&Job::strategy, &StrategySpec::partial_reduce, &PartialReduceSpec::filter>, YesOrNo{},
     "see to it that they do", kPartialReduce},
    {"strategy.hop.graph", job<&Job::strategy, &StrategySpec::hop, &HopSpec::graph>,
     OneOf{"a graph", fixed<kGraphs>}, "who sends its model to whom", kHop},
    {"strategy.hop.edges", job<&Job::strategy, &StrategySpec::hop, &HopSpec::edges>, Edges{},
     "`[from, to]` for every edge; both ways takes two", kHopEdges},
    {"strategy.hop.mode", job<&Job::strategy, &StrategySpec::hop, &HopSpec::mode>,
     OneOf{"a mode of Hop", fixed<kHopModes>}, "which updates of its neighbours a worker waits for",
     kHop},
    {"strategy.hop.backup", job<&Job::strategy, &StrategySpec::hop, &HopSpec::backup>,
     Range{0, 65535}, "in-neighbours whose updates may be missing (mode `backup`)", kHop},
    {"strategy.hop.staleness", job<&Job::strategy, &StrategySpec::hop, &HopSpec::staleness>,
     kIterations, "iterations that an update may be old (mode `staleness`)", kHop},
    {"strategy.hop.max_gap", job<&Job::strategy, &StrategySpec::hop, &HopSpec::max_gap>,
     kIterations,
     "tokens: iterations that a worker may be ahead of an out-neighbour; 0 = no tokens", kHop},
    {"strategy.hop.max_jump", job<&Job::strategy, &StrategySpec::hop, &HopSpec::max_jump>,
     kIterations,
     "iterations that a worker far behind goes on at once, `max_gap` at most; 0 = never skip",
     kHop},
    {"strategy.ad_psgd.graph", job<&Job::strategy, &StrategySpec::ad_psgd, &AdPsgdSpec::graph>,
     OneOf{"a graph", fixed<kGossipGraphs>}, "with whom a worker may average", kAdPsgd},
    {"strategy.ps.servers", job<&Job::strategy, &StrategySpec::ps, &PsSpec::servers>,
     Range{1, 65536}, "processes that share the parameters", kServers},
    {"strategy.ps.staleness", job<&Job::strategy, &StrategySpec::ps, &PsSpec::staleness>,
     kIterations, "commits that a worker may be ahead of the slowest", kSsp},
    {"strategy.adsp.period", job<&Job::strategy, &StrategySpec::adsp, &AdspSpec::period>,
     Range{0, 1e6, true},
     "seconds between two looks at the commit rate; 40 iterations of the slowest worker when not "
     "given",
     kAdsp},
    {"strategy.adsp.commits", job<&Job::strategy, &StrategySpec::adsp, &AdspSpec::commits>,
     Range{1, 1e6}, "that every worker makes in the first period", kAdsp},
    {"strategy.adsp.search", job<&Job::strategy, &StrategySpec::adsp, &AdspSpec::search>, YesOrNo{},
     "look for the number of commits that lowers the loss fastest", kAdsp},
    {"strategy.adsp.loss_target", job<&Job::strategy, &StrategySpec::adsp, &AdspSpec::loss_target>,
     kAbove0,
     "loss that the search wants to reach soonest; nine tenths of the present one when not given",
     kAdsp},
    {"strategy.ashl.h_preset_ahl",
     job<&Job::strategy, &StrategySpec::ashl, &AshlSpec::h_preset_ahl>, Range{1, 1e6},
     "iterations of the slowest worker between two commits, in the coarse stage", kAshl},
    {"strategy.ashl.h_preset_shl",
     job<&Job::strategy, &StrategySpec::ashl, &AshlSpec::h_preset_shl>, Range{1, 1e6},
     "the same in the fine stage", kAshl},
    {"strategy.ashl.r_preset", job<&Job::strategy, &StrategySpec::ashl, &AshlSpec::r_preset>,
     Range{0, 1, true}, "part of the entries that the busiest worker pushes (codec `topk`)", kAshl},
    {"strategy.ashl.loss_preset", job<&Job::strategy, &StrategySpec::ashl, &AshlSpec::loss_preset>,
     kAbove0,
     "training loss at which the fine stage begins; a quarter of the first one when not given",
     kAshl},
    {"strategy.ashl.staleness", job<&Job::strategy, &StrategySpec::ashl, &AshlSpec::staleness>,
     kIterations, "commits that a worker may be ahead of the slowest in the fine stage", kAshl},
    {"strategy.ashl.eta", job<&Job::strategy, &StrategySpec::ashl, &AshlSpec::eta>,
     Range{0, 1000, true}, "multiplies what every commit counts", kAshl},
    {"strategy.ashl.error_feedback",
     job<&Job::strategy, &StrategySpec::ashl, &AshlSpec::error_feedback>, YesOrNo{},
     "what was not pushed is added to the next push", kAshl},
    {"strategy.ashl.drift", job<&Job::strategy, &StrategySpec::ashl, &AshlSpec::drift>,
     Range{0, 1000, true},
     "a round that takes so much longer or shorter than planned makes a new plan", kAshl},
    {"strategy.ashl.joint", job<&Job::strategy, &StrategySpec::ashl, &AshlSpec::joint>, YesOrNo{},
     "plan rounds for compressed pushes, not for whole ones as the paper does", kAshl},
    {"strategy.local_sgd.steps",
     job<&Job::strategy, &StrategySpec::local_sgd, &LocalSgdSpec::steps>, Range{1, 1e6},
     "steps between two averages", kLocalSgd},
    {"strategy.local_sgd.outer_lr",
     job<&Job::strategy, &StrategySpec::local_sgd, &LocalSgdSpec::outer_lr>, kAbove0,
     "what the averaged change is multiplied by", kLocalSgd},
    {"strategy.local_sgd.outer_momentum",
     job<&Job::strategy, &StrategySpec::local_sgd, &LocalSgdSpec::outer_momentum>, Range{0, 1},
     "Nesterov's, on the averaged change (DiLoCo)", kLocalSgd},
    {"strategy.topk.ratio", job<&Job::strategy, &StrategySpec::topk, &TopkSpec::ratio>,
     Range{0, 1, true}, "part of the entries that travels", kTopk},

    {"cluster.workers", job<&Job::cluster, &ClusterSpec::workers>, Range{1, 65536},
     "how many there are"},
    {"cluster.unit", job<&Job::cluster, &ClusterSpec::unit>, kSeconds,
     "seconds for one sample at speed 1; 0 = run free (train only)"},
    {"cluster.overhead", job<&Job::cluster, &ClusterSpec::overhead>, PerWorker{kSeconds, 0, true},
     "seconds a step costs whatever its size"},
    {"cluster.speeds", job<&Job::cluster, &ClusterSpec::speeds>, PerWorker{kSpeed, 1, false},
     "2 computes a sample in half the time of 1"},
    {"cluster.latency", job<&Job::cluster, &ClusterSpec::latency>, kSeconds,
     "seconds from worker to worker (simulate)"},
    {"cluster.bandwidth", job<&Job::cluster, &ClusterSpec::bandwidth>,
     PerWorker{{1, 1e15}, 1.25e9, true}, "bytes per second of every worker's link (simulate)"},
    {"cluster.server_bandwidth", job<&Job::cluster, &ClusterSpec::server_bandwidth>, Range{1, 1e15},
     "of every server's link; the fastest worker's when not given (simulate)", kServers},
    {"cluster.heartbeat", job<&Job::cluster, &ClusterSpec::heartbeat>, Range{0, 1e6, true},
     "a worker silent for so many seconds is lost, a coordinator for twice as many (train)"},
    {"cluster.threads", job<&Job::cluster, &ClusterSpec::threads>, Range{1, 1024},
     "threads one worker computes with (train)"},
    {"cluster.isolate", job<&Job::cluster, &ClusterSpec::isolate>,
     OneOf{"a way to make machines unlike", fixed<kIsolations>},
     "how `train` gives workers their speeds: by pacing, or by CPU quotas, for which it needs the "
     "rights"},
    {"cluster.slowdown", job<&Job::cluster, &ClusterSpec::slowdowns>, Tables{},
     "any number of disturbances"},
    {"cluster.event", job<&Job::cluster, &ClusterSpec::events>, Tables{},
     "at a time of the run, a worker changes"},
};

constexpr Key<RandomSlowdown> kSlowdownKeys[] = {
    {"kind",
     {},
     OneOf{"a kind of slowdown", fixed<kSlowdownKinds>},
     "any step of any worker may be slow"},
    {"probability", slowdown<&RandomSlowdown::probability>, Range{0, 1}, "of a step being slow"},
    {"factor", slowdown<&RandomSlowdown::factor>, Range{1e-6, 1e6},
     "such a step takes so many times as long"},
};

constexpr Key<SpeedEvent> kEventKeys[] = {
    {"at", event<&SpeedEvent::at>, Range{0, 1e12}, "seconds since the run began"},
    {"worker", event<&SpeedEvent::worker>, Range{0, 65535}, "its rank, counted from 0"},
    {"speed", event<&SpeedEvent::speed>, kSpeed, "its speed from then on"},
};

}  // namespace

template <>
std::span<const Key<Job>> keys() {
  return kJobKeys;
}
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

bool is_section(std::string_view name) {
  return std::ranges::any_of(keys<Job>(),
                             [&](const Key<Job>& key) { return section_of(key.name) == name; });
}

std::string_view nearest_key(std::string_view name) {
  std::vector<std::string_view> all;
  for (const Key<Job>& key : keys<Job>()) {
    const std::string_view section = section_of(key.name);
    if (!section.empty() && std::ranges::find(all, section) == all.end()) {
      all.push_back(section);
    }
    all.push_back(key.name);
  }
  // A slip in the word itself, then the right word in the wrong section, then a slip in the
  // section.
  std::vector<std::string_view> neighbours;
  std::ranges::copy_if(all, std::back_inserter(neighbours), [&](std::string_view candidate) {
    return section_of(candidate) == section_of(name);
  });
  if (!neighbours.empty()) {
    std::vector<std::string_view> words;
    std::ranges::transform(neighbours, std::back_inserter(words), last_part);
    const std::string_view word = nearest(last_part(name), words);
    if (const auto found = std::ranges::find(words, word); found != words.end()) {
      return neighbours[static_cast<std::size_t>(found - words.begin())];
    }
  }
  if (const auto same = std::ranges::find(all, last_part(name), last_part); same != all.end()) {
    return *same;
  }
  return neighbours.empty() ? nearest(name, all) : "";
}

Job default_job() {
  Job job;
  job.cluster.workers = 4;
  return job;
}

}  // namespace motley
