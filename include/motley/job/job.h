// A job: what to train, on what, how, and on which machines. Plain values; job/parse.h makes one
// from a file, with every default filled in and every value checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "motley/cluster/graph.h"
#include "motley/cluster/spec.h"

namespace motley {

struct ModelSpec {
  std::string kind = "mlp";     // svm | mlp | cnn | resnet20 | torchscript | phantom | program
  std::string path;             // torchscript: the .pt file
  std::int64_t parameters = 0;  // phantom: how many floats
};

struct DataSpec {
  std::string kind = "synthetic";  // idx | cifar10 | libsvm | synthetic | program
  std::string path;                // idx, cifar10: a folder; libsvm: a file
  std::string test_path;  // libsvm: a file; without one, `holdout` of path is kept for testing
  double holdout = 0.1;
  std::int64_t samples = 10'000;  // synthetic
  std::int64_t test_samples = 2'000;
  std::int64_t features = 784;
  std::int64_t classes = 10;
};

struct TrainSpec {
  std::int64_t batch = 256;            // samples in one step of the whole cluster
  std::optional<std::int64_t> epochs;  // whichever limit is reached first ends the run
  std::optional<std::int64_t> steps;
  std::optional<double> target_accuracy;
  std::optional<std::int64_t> micro_batch;  // samples computed at once
  std::int64_t eval_every = 50;             // steps between evaluations; 0 = only at the end
  std::string optimizer = "sgd";            // sgd | adam
  double lr = 0.05;
  double momentum = 0.9;
  double weight_decay = 0;
};

// Self-adaptive allocation.
struct AdaptiveSpec {
  std::int64_t window = 10;  // steps between two looks at the shares
  double dead_band = 0.005;  // gains below this part of a step's time do not change them
};

struct PartialReduceSpec {
  int group = 2;                       // P, members of a group
  std::string weights = "constant";    // constant | dynamic
  std::string dynamic_rule = "decay";  // decay | ema
  double alpha = 0.5;  // dynamic: what one iteration of staleness leaves of a weight
  std::optional<std::int64_t> window;  // T, groups
  bool filter = true;

  // As many groups as give every worker ten iterations, when it is not given: that keeps the
  // workers connected and hardly ever makes one wait for it.
  std::int64_t window_among(std::int64_t workers) const {
    return window.value_or((10 * workers + group - 1) / group);
  }
  // The fewest groups that can connect all workers: each joins P parts of the cluster.
  std::int64_t fewest_among(std::int64_t workers) const {
    return (workers - 1 + group - 2) / (group - 1);
  }
};

struct HopSpec {
  std::string graph = "ring";     // ring | ring_based | double_ring | complete | edges
  std::vector<Edge> edges;        // edges: from whom to whom
  std::string mode = "standard";  // standard | backup | staleness | notify_ack
  int backup = 1;                 // N_buw, in-neighbours whose updates may be missing
  std::int64_t staleness = 5;     // s, iterations that an update may be old
  std::int64_t max_gap = 0;       // max_ig; 0: no tokens
  std::int64_t max_jump = 0;      // 0: no iteration is skipped

  Graph graph_among(int workers) const {
    return graph == "edges" ? Graph(workers, edges) : Graph::named(graph, workers);
  }
};

struct AdPsgdSpec {
  std::string graph = "complete";  // ring | complete
};

// Parameter servers, for every method that has them.
struct PsSpec {
  int servers = 1;             // processes that share the parameters
  std::int64_t staleness = 3;  // ps_ssp: commits that a worker may be ahead of the slowest
};

struct AdspSpec {
  std::optional<double> period;       // Gamma, seconds between two looks at the commit rate
  std::int64_t commits = 1;           // that every worker makes in the first period
  bool search = true;                 // for the number of commits
  std::optional<double> loss_target;  // of the reward
};

struct AshlSpec {
  std::int64_t h_preset_ahl = 4;      // H_preset of the coarse stage, iterations
  std::int64_t h_preset_shl = 2;      // and of the fine one
  double r_preset = 0.3;              // part of the entries that the busiest link carries
  std::optional<double> loss_preset;  // the global loss at which the fine stage begins
  std::int64_t staleness = 3;         // s_preset, commits
  double eta = 1;                     // multiplies what every commit counts
  bool error_feedback = false;        // the paper has none
  double drift = 0.2;  // a round that takes so much longer or shorter is measured anew
  bool joint = false;  // GET_H reckons with compressed pushes
};

struct LocalSgdSpec {
  std::int64_t steps = 8;  // H, between two averages
  double outer_lr = 1;
  double outer_momentum = 0;  // Nesterov's, on the averaged change
};

struct TopkSpec {
  double ratio = 0.01;  // part of the entries that travels
};

struct StrategySpec {
  std::string sync = "all_reduce";
  std::string allocation = "equal";
  std::vector<double> shares;  // static: one per worker
  std::string codec = "none";  // where it is not given, that of default_codec()
  bool error_feedback = true;  // what a codec lost travels with the next exchange
  AdaptiveSpec adaptive;
  PartialReduceSpec partial_reduce;
  HopSpec hop;
  AdPsgdSpec ad_psgd;
  PsSpec ps;
  AdspSpec adsp;
  AshlSpec ashl;
  LocalSgdSpec local_sgd;
  TopkSpec topk;

  // Parameters lie with servers.
  bool has_servers() const { return sync.starts_with("ps_") || sync == "adsp" || sync == "ashl"; }
  // ASHL is a method with compression.
  std::string default_codec() const { return sync == "ashl" ? "topk" : "none"; }
};

struct Job {
  std::string name = "job";
  std::uint64_t seed = 1;
  ModelSpec model;
  DataSpec data;
  TrainSpec train;
  StrategySpec strategy;
  ClusterSpec cluster;

  bool phantom() const { return model.kind == "phantom"; }
  // Model, data and optimizer are a program's own (motley/trainer.h).
  bool of_program() const { return model.kind == "program"; }
  // How many there are beside the workers. Their ranks follow those of the workers.
  int servers() const { return strategy.has_servers() ? strategy.ps.servers : 0; }
};

}  // namespace motley
