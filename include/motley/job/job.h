// Job: the model, the data, how to train, and the cluster. Plain values; job/parse.h makes one from
// a file, with every default filled in and every value checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "motley/base/ids.h"
#include "motley/base/micro_batch.h"
#include "motley/base/sample_order.h"
#include "motley/cluster/graph.h"
#include "motley/cluster/spec.h"
#include "motley/codec/codec_kind.h"
#include "motley/job/method_options.h"

namespace motley {

// kPhantom has a size but computes nothing; kProgram is the model of a program that uses motley as
// a library (motley/trainer.h).
enum class ModelKind { kSvm, kMlp, kCnn, kResnet20, kTorchscript, kPhantom, kProgram };
enum class DataKind { kIdx, kCifar10, kLibsvm, kSynthetic, kProgram };
enum class OptimizerKind { kSgd, kAdam };

struct ModelSpec {
  ModelKind kind = ModelKind::kMlp;
  std::string path;             // torchscript: the .pt file
  std::int64_t parameters = 0;  // phantom: number of floats
};

struct DataSpec {
  DataKind kind = DataKind::kSynthetic;
  std::string path;       // idx, cifar10: a folder; libsvm: a file
  std::string test_path;  // libsvm: a file; if empty, the part `holdout` of `path` is held out
  double holdout = 0.1;
  std::int64_t samples = 10'000;  // synthetic
  std::int64_t test_samples = 2'000;
  std::int64_t features = 784;
  std::int64_t classes = 10;
};

// Threads of each worker that fetch samples while it computes others.
struct LoaderSpec {
  int workers = 0;  // threads; 0: a worker fetches its samples itself, when it needs them
  int ahead = 2;    // steps after the current one whose samples are fetched
};

struct TrainSpec {
  std::int64_t batch = 256;            // samples in one step of the whole cluster
  std::optional<std::int64_t> epochs;  // whichever limit is reached first ends the run
  std::optional<std::int64_t> steps;
  std::optional<double> target_accuracy;
  // The most samples computed at once, one per worker; if empty, a whole share.
  std::vector<std::int64_t> micro_batch;
  std::int64_t eval_every = 50;        // steps between evaluations; 0 = only at the end
  std::int64_t eval_every_epochs = 0;  // epochs between evaluations; 0 = eval_every counts
  LoaderSpec loader;
  SampleOrder order = SampleOrder::kShuffled;
  bool drop_last = false;  // an epoch has whole batches only
  bool sticky = false;     // every place in the batch stays with its worker
  int min_share = 1;       // no worker computes fewer samples in a step, unless none at all
  OptimizerKind optimizer = OptimizerKind::kSgd;
  double lr = 0.05;
  double momentum = 0.9;
  double weight_decay = 0;
  // Steps between two checkpoints; 0 = none. Negative: "auto", a suitable time in a real run and
  // none in a simulation.
  std::int64_t checkpoint_every = -1;
  int checkpoint_keep = 3;  // how many of the newest stay; the best one stays too

  // Streams are cut so that they have no rest.
  bool drops_last() const { return drop_last || order == SampleOrder::kStreams; }

  std::size_t micro_batch_of(Rank rank) const {
    return micro_batch.empty()
               ? kWholeShare
               : static_cast<std::size_t>(micro_batch.at(static_cast<std::size_t>(rank)));
  }
};

// Self-adaptive allocation.
struct AdaptiveSpec {
  std::int64_t window = 10;  // steps between two decisions about the shares
  // Shares stay if changing them would save less than this fraction of a step's time.
  double dead_band = 0.005;
};

// Parameter servers, for every method that has them.
struct PsSpec {
  int servers = 1;  // each holds a part of the parameters
};

struct TopkSpec {
  double ratio = 0.01;  // fraction of the entries that is sent
};

struct StrategySpec {
  std::string sync;  // a method's name; if empty, the first registered method
  std::string allocation = "equal";
  std::vector<double> shares;          // static: one per worker
  CodecKind codec = CodecKind::kNone;  // the method's default if not given
  bool error_feedback = true;          // what the codec lost is added to the next exchange
  AdaptiveSpec adaptive;
  PsSpec ps;
  TopkSpec topk;
  MethodOptions methods;  // the settings of each method

  // The settings of one method; T is the options struct in its public header.
  template <class T>
  T& of() {
    return methods.of<T>();
  }
  template <class T>
  const T& of() const {
    return methods.of<T>();
  }
};

struct Job {
  std::string name = "job";
  std::uint64_t seed = 1;
  ModelSpec model;
  DataSpec data;
  TrainSpec train;
  StrategySpec strategy;
  ClusterSpec cluster;

  bool phantom() const { return model.kind == ModelKind::kPhantom; }
  // True if a program brings its own model, data and optimizer (motley/trainer.h).
  bool of_program() const { return model.kind == ModelKind::kProgram; }
};

}  // namespace motley
