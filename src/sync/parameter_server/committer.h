// Committer: a worker that trains at its own pace on a model of its own, and now and then commits
// what it has changed to the parameter servers and goes on with what they hold.
//
//   w = W;  for each iteration:  w <- w - lr * gradient
//           when it is time:     push w - W_at_last_pull;  w = W = what the servers answer
//
// The method decides when it is time, and what a commit counts.
//
// Samples are dealt out as they are wanted (sync/sample_client.h). What is evaluated is what a
// worker has just pulled. In the end everybody holds what the servers hold when all have left.
#pragma once

#include <cstdint>
#include <vector>

#include "motley/base/figure.h"
#include "motley/sync/strategy.h"
#include "sync/parameter_server/client.h"
#include "sync/sample_client.h"

namespace motley {

class Committer : public Strategy {
 public:
  explicit Committer(const StrategyContext& context);

  std::optional<Work> begin() final;
  Progress finish(const Computed& computed) final;
  Seconds waited() const final { return waited_ + sample_client_.waited(); }

 protected:
  // Whether a commit follows the iteration that begins now.
  virtual bool commits_after_this() = 0;
  // What the commit now to be made counts, and what bounds it.
  virtual CommitHeader next_commit() = 0;
  virtual void committed(const ServerClient::Reply&) {}

  Node& node() { return context_.node; }
  const Job& job() const { return context_.job; }
  Block parameters() { return context_.replica.parameters(); }
  // What an iteration of this worker counts among all: the mean of all workers' steps is the step
  // of a whole batch.
  double equal_weight() const { return 1.0 / context_.node.size(); }
  // Iterations since the last commit, and how long the last iteration took.
  std::int64_t since_commit() const { return since_commit_; }
  std::int64_t commits() const { return commits_; }
  Seconds iteration_seconds() const { return iteration_seconds_; }
  void add_wait(Seconds seconds) { waited_ += seconds; }

  SampleClient& sample_client() { return sample_client_; }
  ServerClient& client() { return client_; }

 private:
  void commit();
  void leave();

  StrategyContext context_;
  SampleClient sample_client_;
  ServerClient client_;
  std::vector<float> base_;  // W at the last pull; none of a phantom
  std::int64_t iteration_ = 0;
  std::int64_t since_commit_ = 0;
  std::int64_t commits_ = 0;
  Seconds commit_seconds_ = 0;  // of the last one
  std::int64_t staleness_sum_ = 0;
  std::vector<std::int64_t> staleness_;  // how many commits were how stale
  bool commits_now_ = false;
  Seconds began_ = 0;  // the iteration
  Seconds iteration_seconds_ = 0;
  Seconds waited_ = 0;
  bool over_ = false;
};

// What the workers' commits came to, from their farewells.
struct CommitCounts {
  std::vector<std::int64_t> commits;    // by worker
  std::int64_t staleness_sum = 0;       // of all commits
  std::vector<std::int64_t> staleness;  // commits of staleness 0, 1, ... 63, and more

  static CommitCounts of(const std::vector<std::vector<std::int64_t>>& farewells);
  Figures figures() const;  // for the summary
};

}  // namespace motley
