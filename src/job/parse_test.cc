#include "job/parse.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "sync/registry.h"
#include "tests/job_text.h"
#include "tests/scratch_dir.h"

namespace motley {
namespace {

constexpr std::string_view kFull = R"(
name = "fashion"
seed = 3
[model]
kind = "torchscript"
path = "net.pt"
[data]
kind = "idx"
path = "/usr/share/datasets/fashion-mnist"
[train]
batch = 128
epochs = 2
steps = 500
target_accuracy = 0.85
eval_every = 10
optimizer = "sgd"
lr = 0.1
momentum = 0.5
weight_decay = 1e-4
[strategy]
sync = "all_reduce"
allocation = "equal"
codec = "none"
[cluster]
workers = 3
unit = 0.0005
overhead = 0.001
speeds = [1, 2, 0.25]
latency = 1e-3
bandwidth = [1e9, 2e9, 3e9]
heartbeat = 2.5
threads = 2
[[cluster.slowdown]]
kind = "random"
probability = 0.25
factor = 6
[[cluster.event]]
at = 10.0
worker = 2
speed = 0.5
[[cluster.event]]
at = 5
worker = 0
speed = 2
)";

TEST(ParseJob, ReadsEveryKey) {
  const Job job = good(kFull);
  EXPECT_EQ(job.name, "fashion");
  EXPECT_EQ(job.seed, 3U);
  EXPECT_EQ(job.model.kind, ModelKind::kTorchscript);
  EXPECT_EQ(job.model.path, "net.pt");
  EXPECT_EQ(job.data.kind, DataKind::kIdx);
  EXPECT_EQ(job.data.path, "/usr/share/datasets/fashion-mnist");
  EXPECT_EQ(job.train.batch, 128);
  EXPECT_EQ(job.train.epochs, 2);
  EXPECT_EQ(job.train.steps, 500);
  EXPECT_EQ(job.train.target_accuracy, 0.85);
  EXPECT_EQ(job.train.eval_every, 10);
  EXPECT_EQ(job.train.lr, 0.1);
  EXPECT_EQ(job.train.momentum, 0.5);
  EXPECT_EQ(job.train.weight_decay, 1e-4);
  EXPECT_EQ(job.cluster.workers, 3);
  EXPECT_EQ(job.cluster.unit, 0.0005);
  EXPECT_EQ(job.cluster.overhead, std::vector<double>(3, 0.001));
  EXPECT_EQ(job.cluster.speeds, (std::vector{1.0, 2.0, 0.25}));
  EXPECT_EQ(job.cluster.latency, 1e-3);
  EXPECT_EQ(job.cluster.bandwidth, (std::vector{1e9, 2e9, 3e9}));
  EXPECT_EQ(job.cluster.heartbeat, 2.5);
  EXPECT_EQ(job.cluster.threads, 2);
  ASSERT_EQ(job.cluster.slowdowns.size(), 1U);
  EXPECT_EQ(job.cluster.slowdowns[0].probability, 0.25);
  EXPECT_EQ(job.cluster.slowdowns[0].factor, 6);
  ASSERT_EQ(job.cluster.events.size(), 2U);
  EXPECT_EQ(job.cluster.events[0].at, 5) << "events are in order of time";
  EXPECT_EQ(job.cluster.events[0].speed, 2);
  EXPECT_EQ(job.cluster.events[1].worker, 2);
}

TEST(ParseJob, FillsInDefaults) {
  const Job job = good("");
  EXPECT_EQ(job.name, "job");
  EXPECT_EQ(job.cluster.workers, 4);
  EXPECT_EQ(job.cluster.speeds, std::vector<double>(4, 1.0));
  EXPECT_EQ(job.cluster.bandwidth, std::vector<double>(4, 1.25e9));
  EXPECT_EQ(job.train.epochs, 1);
  EXPECT_FALSE(job.train.steps);
  EXPECT_FALSE(good("train.steps = 5").train.epochs);
}

TEST(ParseJob, OneBandwidthIsForAllWorkers) {
  EXPECT_EQ(good("cluster = {workers = 2, bandwidth = 5e8}").cluster.bandwidth,
            (std::vector{5e8, 5e8}));
}

TEST(ParseJob, SyntaxErrorsHaveTheirLine) {
  EXPECT_EQ(
      error_of("name = \"a\"\n\n[train\nbatch = 3"),
      "job.toml:3: not valid TOML: error while parsing table header: expected ']', saw '\\n'");
  EXPECT_TRUE(error_of("name = 'a'\nname = 'b'").starts_with("job.toml:2: not valid TOML: "));
}

TEST(ParseJob, UnknownKeysAreNamedWithTheNearest) {
  EXPECT_EQ(error_of("[train]\nepochs = 1\nbach = 3"),
            "job.toml:3: unknown key \"train.bach\"; did you mean \"train.batch\"?");
  EXPECT_EQ(error_of("\n[trian]\nbatch = 3"),
            "job.toml:2: unknown key \"trian\"; did you mean \"train\"?");
  EXPECT_EQ(error_of("workers = 3"),
            "job.toml:1: unknown key \"workers\"; did you mean \"cluster.workers\"?");
  EXPECT_EQ(error_of("[train]\ndropout = 0.5"), "job.toml:2: unknown key \"train.dropout\"");
  EXPECT_EQ(error_of("'train.batch' = 3"),
            "job.toml:1: unknown key \"'train.batch'\"; did you mean \"train.batch\"?");
  EXPECT_EQ(error_of("[[cluster.event]]\nat = 1\nworker = 0\nsped = 3"),
            "job.toml:4: unknown key \"cluster.event[0].sped\"; did you mean \"speed\"?");
}

TEST(ParseJob, TheFirstErrorOfTheFileIsReported) {
  EXPECT_EQ(error_of("[train]\nzzz = 1\naaa = 2"), "job.toml:2: unknown key \"train.zzz\"");
}

TEST(ParseJob, WrongTypes) {
  EXPECT_EQ(error_of("[train]\nbatch = \"many\""),
            "job.toml:2: train.batch is a string, but should be an integer");
  EXPECT_EQ(error_of("[train]\nbatch = 256.0"),
            "job.toml:2: train.batch is a float, but should be an integer");
  EXPECT_EQ(error_of("[train]\nlr = true"),
            "job.toml:2: train.lr is a boolean, but should be a number");
  EXPECT_EQ(error_of("name = 3"), "job.toml:1: name is an integer, but should be a string");
  EXPECT_EQ(error_of("name = 1979-05-27"),
            "job.toml:1: name is a date or time, but should be a string");
  EXPECT_EQ(error_of("train = [1]"), "job.toml:1: train is an array, but should be a table");
  EXPECT_EQ(error_of("[train.batch]\nx = 1"),
            "job.toml:1: train.batch is a table, but should be an integer");
  EXPECT_EQ(error_of("[cluster]\nspeeds = 1"),
            "job.toml:2: cluster.speeds is an integer, but should be an array of numbers, one per "
            "worker");
  EXPECT_EQ(error_of("[cluster]\nspeeds = [1,\n 1,\n 'fast', 1]"),
            "job.toml:4: cluster.speeds[2] is a string, but should be a number");
  EXPECT_EQ(error_of("[cluster]\nbandwidth = 'high'"),
            "job.toml:2: cluster.bandwidth is a string, but should be a number, or an array of "
            "numbers, one per worker");
  EXPECT_EQ(error_of("[cluster.event]\nat = 1"),
            "job.toml:1: cluster.event is a table, but should be a list of tables, "
            "[[cluster.event]]");
  EXPECT_EQ(error_of("cluster.event = [1]"),
            "job.toml:1: cluster.event[0] is an integer, but should be a table");
}

TEST(ParseJob, ValuesOutOfRange) {
  const std::pair<const char*, const char*> cases[] = {
      {"train.batch = 0", "train.batch is 0, but must be from 1 to 1000000000"},
      {"train.batch = -5", "train.batch is -5, but must be from 1 to 1000000000"},
      {"train.batch = 9223372036854775807",
       "train.batch is 9223372036854775807, but must be from 1 to 1000000000"},
      {"train.epochs = 0", "train.epochs is 0, but must be from 1 to 1000000000"},
      {"train.steps = 0", "train.steps is 0, but must be from 1 to 1000000000"},
      {"train.eval_every = -1", "train.eval_every is -1, but must be from 0 to 1000000000"},
      {"train.lr = 0", "train.lr is 0, but must be above 0"},
      {"train.lr = inf", "train.lr is inf, but must be above 0"},
      {"train.lr = nan", "train.lr is nan, but must be above 0"},
      {"train.momentum = 1.5", "train.momentum is 1.5, but must be from 0 to 1"},
      {"train.weight_decay = -1", "train.weight_decay is -1, but must be at least 0"},
      {"train.target_accuracy = 0",
       "train.target_accuracy is 0, but must be above 0 and at most 1"},
      {"train.target_accuracy = 85",
       "train.target_accuracy is 85, but must be above 0 and at most 1"},
      {"strategy.partial_reduce.group = 1",
       "strategy.partial_reduce.group is 1, but must be from 2 to 65536"},
      {"strategy.partial_reduce.alpha = 0",
       "strategy.partial_reduce.alpha is 0, but must be above 0 and at most 1"},
      {"strategy.partial_reduce.alpha = 1.01",
       "strategy.partial_reduce.alpha is 1.01, but must be above 0 and at most 1"},
      {"strategy.partial_reduce.window = 0",
       "strategy.partial_reduce.window is 0, but must be from 1 to 1000000000"},
      {"seed = -1", "seed is -1, but must be at least 0"},
      {"data.samples = 0", "data.samples is 0, but must be from 1 to 1000000000"},
      {"cluster.workers = 0", "cluster.workers is 0, but must be from 1 to 65536"},
      {"cluster.workers = 65537", "cluster.workers is 65537, but must be from 1 to 65536"},
      {"cluster.unit = -0.1", "cluster.unit is -0.1, but must be from 0 to 1000000"},
      {"cluster.speeds = [1, 0, 1, 1]",
       "cluster.speeds[1] is 0, but must be from 1e-06 to 1000000"},
      {"cluster.latency = -1", "cluster.latency is -1, but must be from 0 to 1000000"},
      {"cluster.bandwidth = 0", "cluster.bandwidth is 0, but must be from 1 to 1000000000000000"},
      {"cluster.heartbeat = 0", "cluster.heartbeat is 0, but must be above 0 and at most 1000000"},
      {"cluster.threads = 0", "cluster.threads is 0, but must be from 1 to 1024"},
      {"cluster.slowdown = [{kind = 'random', probability = 1.5, factor = 2}]",
       "cluster.slowdown[0].probability is 1.5, but must be from 0 to 1"},
      {"cluster.slowdown = [{kind = 'random', probability = 1, factor = 0}]",
       "cluster.slowdown[0].factor is 0, but must be from 1e-06 to 1000000"},
      {"cluster.event = [{at = -1, worker = 0, speed = 1}]",
       "cluster.event[0].at is -1, but must be from 0 to 1000000000000"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_EQ(error_of(text), std::string("job.toml:1: ") + message);
  }
  EXPECT_EQ(error_of("\ntrain.batch = 99999999999999999999"),
            "job.toml:2: not valid TOML: error while parsing decimal integer: "
            "'99999999999999999999' is not representable in 64 bits");
}

TEST(ParseJob, ListsOfTheWrongLength) {
  EXPECT_EQ(error_of("[cluster]\nworkers = 4\nspeeds = [1, 1, 1]"),
            "job.toml:3: cluster.speeds has 3 entries, but cluster.workers is 4");
  EXPECT_EQ(error_of("[cluster]\nbandwidth = [1e9]\nworkers = 2"),
            "job.toml:2: cluster.bandwidth has 1 entries, but cluster.workers is 2");
}

TEST(ParseJob, MicroBatchesAreOneIntegerOrOnePerWorker) {
  const auto micro_batch = [](const std::string& value) {
    const auto job =
        parse_job(job_schema(), "cluster.workers = 3\n" + value, "job.toml", {}, Mode::kConfig);
    EXPECT_TRUE(job) << job.error().message;
    return job->train.micro_batch;
  };
  EXPECT_EQ(micro_batch(""), (std::vector<std::int64_t>{}));
  EXPECT_EQ(micro_batch("train.micro_batch = 16"), (std::vector<std::int64_t>{16, 16, 16}));
  EXPECT_EQ(micro_batch("train.micro_batch = [7, 3, 1]"), (std::vector<std::int64_t>{7, 3, 1}));
  EXPECT_EQ(micro_batch("train.micro_batch = [7, 3, 1]\nmodel.kind = 'phantom'\n"
                        "model.parameters = 5"),
            (std::vector<std::int64_t>{7, 3, 1}));
  const std::vector<std::pair<std::string, std::string>> mistakes = {
      {"0", "train.micro_batch is 0, but must be from 1 to 1000000000"},
      {"-1", "train.micro_batch is -1, but must be from 1 to 1000000000"},
      {"[4, 4, 0, 4]", "train.micro_batch[2] is 0, but must be from 1 to 1000000000"},
      {"[4, 4, 4]", "train.micro_batch has 3 entries, but cluster.workers is 4"},
      {"[]", "train.micro_batch has 0 entries, but cluster.workers is 4"},
      {"1.5", "train.micro_batch is a float, but should be an integer"},
      {"[4, 4, 4, 1.5]", "train.micro_batch[3] is a float, but should be an integer"},
      {"'all'",
       "train.micro_batch is a string, but should be an integer, or an array of integers, one per "
       "worker"},
  };
  for (const auto& [value, message] : mistakes) {
    EXPECT_EQ(error_of("train.micro_batch = " + value), "job.toml:1: " + message);
  }
}

TEST(ParseJob, CheckpointsAreEverySoManyStepsOrAuto) {
  const auto every = [](const std::string& value) {
    const auto job = parse_job(job_schema(), "", "job.toml",
                               std::vector{"train.checkpoint_every=" + value}, Mode::kConfig);
    EXPECT_TRUE(job) << job.error().message;
    return job->train.checkpoint_every;
  };
  EXPECT_EQ(parse_job(job_schema(), "", "job.toml", {}, Mode::kTrain)->train.checkpoint_every, -1);
  EXPECT_EQ(every("auto"), -1);
  EXPECT_EQ(every("'auto'"), -1);
  EXPECT_EQ(every("0"), 0);
  EXPECT_EQ(every("500"), 500);
  const std::vector<std::pair<std::string, std::string>> mistakes = {
      {"-1", "train.checkpoint_every is -1, but must be from 0 to 1000000000"},
      {"1.5", "train.checkpoint_every is a float, but should be an integer or \"auto\""},
      {"'often'", "train.checkpoint_every = \"often\" should be an integer or \"auto\""},
  };
  for (const auto& [value, message] : mistakes) {
    EXPECT_EQ(error_of("train.checkpoint_every = " + value), "job.toml:1: " + message);
  }
  EXPECT_EQ(error_of("train.checkpoint_keep = 0"),
            "job.toml:1: train.checkpoint_keep is 0, but must be from 1 to 1000000");
}

TEST(ParseJob, EntriesOfListsNeedAllTheirKeys) {
  EXPECT_EQ(error_of("\n[[cluster.event]]\nat = 1\nspeed = 2"),
            "job.toml:2: cluster.event[0] needs \"worker\" or \"server\"");
}

std::vector<std::string_view> names_of_methods() {
  std::vector<std::string_view> names;
  for (const Method* method : methods()) {
    names.push_back(method->name());
  }
  return names;
}

TEST(ParseJob, UnknownNamesListTheValidOnes) {
  EXPECT_EQ(error_of("[model]\nkind = 'mpl'"),
            "job.toml:2: model.kind = \"mpl\" is not a kind of model; did you mean \"mlp\"? "
            "(available: svm, mlp, cnn, resnet20, torchscript, phantom, program)");
  EXPECT_EQ(error_of("[train]\noptimizer = 'lamb'"),
            "job.toml:2: train.optimizer = \"lamb\" is not an optimizer (available: sgd, adam)");
  EXPECT_EQ(error_of("strategy.sync = 'hopp'"),
            fmt::format("job.toml:1: strategy.sync = \"hopp\" is not a strategy; did you mean "
                        "\"hop\"? (available: {})",
                        fmt::join(names_of_methods(), ", ")));
  EXPECT_EQ(error_of("cluster.slowdown = [{kind = 'fixed', probability = 1, factor = 1}]"),
            "job.toml:1: cluster.slowdown[0].kind = \"fixed\" is not a kind of slowdown "
            "(available: random)");
}

TEST(ParseJob, KeysThatBelongToAnotherKind) {
  const std::pair<const char*, const char*> cases[] = {
      {"model.path = 'net.pt'", "model.path is only for model.kind = \"torchscript\""},
      {"model.parameters = 5", "model.parameters is only for model.kind = \"phantom\""},
      {"data.path = 'x'", "data.path is only for data.kind = \"idx\", \"cifar10\" or \"libsvm\""},
      {"data = {kind = 'idx', path = 'x', samples = 5}",
       "data.samples is only for data.kind = \"synthetic\""},
      {"data = {kind = 'idx', path = 'x', test_path = 'y'}",
       "data.test_path is only for data.kind = \"libsvm\""},
      {"data = {kind = 'libsvm', path = 'x', test_path = 'y', holdout = 0.5}",
       "data.holdout is only for data.kind = \"libsvm\" without data.test_path"},
      {"train = {optimizer = 'adam', momentum = 0.9}",
       "train.momentum is only for train.optimizer = \"sgd\""},
      {"model = {kind = 'phantom', parameters = 5}\ntrain.target_accuracy = 0.5",
       "train.target_accuracy is only for models other than \"phantom\""},
  };
  for (const auto& [text, message] : cases) {
    const std::string error = error_of(text);
    EXPECT_TRUE(error.ends_with(std::string(": ") + message)) << error;
  }
}

TEST(ParseJob, KeysThatAKindNeeds) {
  EXPECT_EQ(error_of("[model]\nkind = 'torchscript'"),
            "job.toml:2: model.path is missing; it is needed for model.kind = \"torchscript\"");
  EXPECT_EQ(error_of("[model]\nkind = 'phantom'"),
            "job.toml:2: model.parameters is missing; it is needed for model.kind = \"phantom\"");
  EXPECT_EQ(
      error_of("[data]\nkind = 'cifar10'"),
      "job.toml:2: data.path is missing; it is needed for data.kind = \"idx\", \"cifar10\" or "
      "\"libsvm\"");
  EXPECT_EQ(error_of("[data]\nkind = 'idx'\npath = ''"), "job.toml:3: data.path is empty");
}

TEST(ParseJob, PhantomIsForSimulation) {
  constexpr std::string_view kPhantom =
      "cluster.unit = 0.1\n[model]\nkind = 'phantom'\nparameters = 25_000_000";
  EXPECT_EQ(good(kPhantom, {}, Mode::kSimulate).model.parameters, 25'000'000);
  EXPECT_EQ(error_of(kPhantom, {}, Mode::kTrain),
            "job.toml:3: model.kind = \"phantom\" can only be simulated: it computes nothing");
  EXPECT_EQ(error_of(kPhantom, {"data.kind=idx", "data.path=x"}),
            "--set data.kind=idx: model.kind = \"phantom\" needs data.kind = \"synthetic\", not "
            "\"idx\"");
}

TEST(ParseJob, SimulationNeedsAPace) {
  EXPECT_EQ(error_of("\n[cluster]\nunit = 0", {}, Mode::kSimulate),
            "job.toml:3: simulate needs cluster.unit above 0: the seconds that one sample takes at "
            "speed 1");
  EXPECT_TRUE(error_of("", {}, Mode::kSimulate).starts_with("job.toml:1: simulate needs"));
  good("", {}, Mode::kTrain);
  good("cluster.overhead = 0.1", {}, Mode::kSimulate);
  good("cluster.workers = 2\ncluster.overhead = [0, 0.1]", {}, Mode::kSimulate);
}

TEST(ParseJob, EveryWorkerNeedsASample) {
  EXPECT_EQ(error_of("[train]\nbatch = 3"),
            "job.toml:2: train.batch is 3, but cluster.workers is 4: every worker needs a sample "
            "in every step");
  EXPECT_TRUE(error_of("\ncluster.workers = 1000").starts_with("job.toml:2: train.batch is 256"));
}

TEST(ParseJob, NamesAreFitForADirectory) {
  const std::string reason =
      " cannot be a directory name: it must be printable, contain no '/', not begin with '.' and "
      "have at most 100 bytes";
  EXPECT_EQ(error_of("name = 'a/b'"), "job.toml:1: name = \"a/b\"" + reason);
  EXPECT_EQ(error_of("name = '..'"), "job.toml:1: name = \"..\"" + reason);
  EXPECT_EQ(error_of("name = \"a\\nb\""), "job.toml:1: name = \"a\\x0ab\"" + reason);
  EXPECT_EQ(error_of("name = ''"), "job.toml:1: name is empty");
  EXPECT_NE(error_of("name = '" + std::string(101, 'a') + "'"), "accepted");
  EXPECT_EQ(good("name = 'größe 1'").name, "größe 1");
  EXPECT_EQ(error_of("data = {kind = 'idx', path = \"a\\u0000b\"}"),
            "job.toml:1: data.path contains a zero byte");
}

TEST(ParseJob, SharesAreGivenAndGood) {
  const Job job = good("strategy.allocation = 'static'\nstrategy.shares = [3, 3, 3, 0.5]");
  EXPECT_EQ(job.strategy.shares, (std::vector<double>{3, 3, 3, 0.5}));
  EXPECT_EQ(error_of("strategy.allocation = 'static'"),
            "job.toml:1: strategy.shares is missing; it is needed for strategy.allocation = "
            "\"static\"");
  const std::string chosen = "strategy.allocation = 'static'\nstrategy.shares = ";
  EXPECT_EQ(error_of(chosen + "[1, 1]"),
            "job.toml:2: strategy.shares has 2 entries, but cluster.workers is 4");
  EXPECT_EQ(error_of(chosen + "[1, 1, 0, 1]"),
            "job.toml:2: strategy.shares[2] is 0, but must be above 0 and at most 1000000000");
  EXPECT_EQ(error_of(chosen + "[1, -1, 1, 1]"),
            "job.toml:2: strategy.shares[1] is -1, but must be above 0 and at most 1000000000");
  EXPECT_EQ(error_of(chosen + "[]"),
            "job.toml:2: strategy.shares has 0 entries, but cluster.workers is 4");
  EXPECT_EQ(error_of(chosen + "1"),
            "job.toml:2: strategy.shares is an integer, but should be an array of numbers, one per "
            "worker");
}

// So that --set strategy.allocation or a variant can choose another allocation.
TEST(ParseJob, SettingsOfAnAllocationMayStandBesideAnother) {
  const std::string text = "strategy.shares = [1, 2, 3, 4]\n[strategy.adaptive]\nwindow = 7";
  EXPECT_EQ(good(text).strategy.allocation, "equal");
  EXPECT_EQ(good(text, {"strategy.allocation=static"}).strategy.shares[3], 4);
  EXPECT_EQ(good(text, {"strategy.allocation=adaptive"}).strategy.adaptive.window, 7);
  EXPECT_EQ(error_of("strategy.shares = [1]"),
            "job.toml:1: strategy.shares has 1 entries, but cluster.workers is 4");
  EXPECT_EQ(error_of("strategy.adaptive.window = 0"),
            "job.toml:1: strategy.adaptive.window is 0, but must be from 1 to 1000000000");
  EXPECT_EQ(error_of("strategy.adaptive.windows = 3"),
            "job.toml:1: unknown key \"strategy.adaptive.windows\"; did you mean "
            "\"strategy.adaptive.window\"?");
  EXPECT_EQ(error_of("strategy.adaptive = 3"),
            "job.toml:1: strategy.adaptive is an integer, but should be a table");
}

TEST(ParseJob, QuotasReplacePacing) {
  const std::string quotas = "[cluster]\nisolate = 'cgroup'\n";
  good(quotas + "unit = 1e-3", {}, Mode::kTrain);
  EXPECT_EQ(error_of(quotas + "overhead = 1e-3", {}, Mode::kTrain),
            "job.toml:3: cluster.overhead needs pacing, but cluster.isolate = \"cgroup\" "
            "replaces pacing by quotas");
  const std::string slowdown = "slowdown = [{kind = 'random', probability = 0.1, factor = 2}]";
  EXPECT_EQ(error_of(quotas + slowdown, {}, Mode::kTrain),
            "job.toml:3: cluster.slowdown needs pacing, but cluster.isolate = \"cgroup\" "
            "replaces pacing by quotas");
  good(quotas + "unit = 1e-3\n" + slowdown, {}, Mode::kSimulate);
}

TEST(ParseJob, DeepNestingIsRefused) {
  constexpr std::size_t kDeep = 100'000;
  std::string dots = "a";
  for (std::size_t i = 0; i < kDeep; ++i) {
    dots += ".a";
  }
  const std::string inputs[] = {
      "x = " + std::string(kDeep, '['),
      "x = " + std::string(kDeep, '[') + std::string(kDeep, ']'),
      "# a.b.c\n\nx = ''' \n ' . '''\n" + dots + " = 1",
      "[" + dots + "]",
      "[" + dots + "]\n?",
      "x = {" + dots + " = 1}",
      "'#'." + dots + " = 1",
  };
  for (const std::string& text : inputs) {
    EXPECT_NE(error_of(text).find("not valid TOML"), std::string::npos) << error_of(text);
  }
  EXPECT_TRUE(error_of(inputs[2]).starts_with("job.toml:5: ")) << error_of(inputs[2]);
  EXPECT_NE(error_of("", {"name=" + inputs[0]}), "accepted");
  good(
      "# ........................................\nname = 'a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r.s'");
}

TEST(ParseJob, LargeFilesAreRefused) {
  EXPECT_EQ(error_of("#" + std::string(std::size_t{1} << 20, 'x')),
            "job.toml:1: larger than 1 MiB");
}

TEST(ParseJob, LongNamesAreCutShort) {
  EXPECT_LT(error_of(std::string(100'000, 'x') + " = 1").size(), 1100U);
}

TEST(ReadJobFile, ReadsUpToAByteTooMuch) {
  const ScratchDir scratch;
  const std::string path = scratch.write("job.toml", std::string(kFull));
  EXPECT_EQ(read_job_file(path), std::string(kFull));
  scratch.write("job.toml", std::string(std::size_t{2} << 20, '#'));
  EXPECT_EQ(read_job_file(path)->size(), (std::size_t{1} << 20) + 1);
  EXPECT_EQ(read_job_file(scratch.path()).error().message,
            scratch.path() + ": cannot be read: Is a directory");
  std::filesystem::remove(path);
  EXPECT_EQ(read_job_file(path).error().message,
            path + ": cannot be opened: No such file or directory");
}

}  // namespace
}  // namespace motley
