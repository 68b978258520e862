// Workers whose models change only by averaging.
#pragma once

#include <memory>
#include <vector>

#include "base/random.h"
#include "motley/job/job.h"
#include "motley/sync/method.h"
#include "motley/sync/task.h"
#include "sim/cluster.h"
#include "sync/loop.h"

namespace motley {

class Unwatched final : public Observer {
 public:
  void on_step(Seconds, const Progress&, const WorkerResult&) override {}
  void on_snapshot(Seconds, const Progress&, Replica&) override {}
};

// A model that changes only by averaging. Its buffers are its first parameters.
class AveragedReplica final : public Replica {
 public:
  AveragedReplica(std::size_t size, std::uint64_t seed, Rank rank)
      : parameters_(size), gradient_(size + kTail) {
    Random random(seed, static_cast<std::uint64_t>(rank));
    for (float& value : parameters_) {
      value = static_cast<float>(random.normal());
    }
    buffers_.assign(parameters_.begin(), parameters_.begin() + 7);
  }
  Block parameters() override { return {parameters_.data(), parameters_.size()}; }
  Block gradient() override { return {gradient_.data(), gradient_.size()}; }
  Block buffers() override { return {buffers_.data(), buffers_.size()}; }
  double compute(std::span<const SampleIndex>) override { return 0; }
  void apply(double) override {}

 private:
  std::vector<float> parameters_;
  std::vector<float> buffers_;
  std::vector<float> gradient_;
};

using Models = std::vector<std::unique_ptr<AveragedReplica>>;

inline Models still_models(int workers, std::size_t size, std::uint64_t seed) {
  Models models;
  for (Rank rank = 0; rank < workers; ++rank) {
    models.push_back(std::make_unique<AveragedReplica>(size, seed, rank));
  }
  return models;
}

inline void start_workers(SimCluster& cluster, const Job& job, std::int64_t samples,
                          Models& models) {
  for (Rank rank = 0; rank < job.cluster.workers; ++rank) {
    cluster.start(rank, [&, rank, samples](Node& node) {
      Unwatched observer;
      train(node, {job, samples, *models[static_cast<std::size_t>(rank)], observer,
                   [] { return false; }});
    });
  }
}

// Starts the workers, the service of the job's method, and its servers if it has any.
inline void start_all(SimCluster& cluster, const Job& job, std::int64_t samples, Models& models) {
  start_workers(cluster, job, samples, models);
  for (int server = 0; server < servers_of(job); ++server) {
    cluster.start(job.cluster.workers + server, [&job](Node& node) { run_server(node, job); });
  }
  cluster.start(kCoordinator,
                [&job, samples](Node& node) { serve(node, job, samples, [] { return false; }); });
}

inline void run_all(const Job& job, std::int64_t samples, Models& models) {
  SimCluster cluster(job.cluster, servers_of(job));
  start_all(cluster, job, samples, models);
  cluster.run();
}

inline std::vector<double> sum_of(const Models& models) {
  std::vector<double> sum(models.front()->parameters().size, 0.0);
  for (const auto& model : models) {
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum[i] += static_cast<double>(model->parameters().data[i]);
    }
  }
  return sum;
}

}  // namespace motley
