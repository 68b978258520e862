// Committer: a worker that trains its own copy of the model at its own pace. From time to time it
// commits its changes to the parameter servers and continues with their parameters.
//
//   w = W;  for each iteration:  w <- w - lr * gradient
//           to commit:           push w - W_at_last_pull;  w = W = what the servers answer
//
// The method decides when to commit, and with which weight.
//
// Samples are dealt out on request (motley/sync/sample_client.h). The model that is evaluated is
// one that a worker has just pulled. At the end of a term all workers get the
// servers' parameters.
#pragma once

#include <cstdint>
#include <vector>

#include "motley/base/figure.h"
#include "motley/sync/collective.h"
#include "motley/sync/parameter_server/client.h"
#include "motley/sync/sample_client.h"
#include "motley/sync/strategy.h"

namespace motley {

struct MethodState;  // sync/refit.h

class Committer : public Strategy {
 public:
  explicit Committer(const StrategyContext& context);

  std::optional<Work> begin() final;
  Progress finish(const Computed& computed) final;
  void end_run() final;
  std::optional<Settled> settle() final;
  Seconds waited() const final { return waited_ + sample_client_.waited(); }
  // A method that keeps more overrides it and calls this too.
  void state(Archive& archive) override;

 protected:
  // True if a commit should follow the iteration that begins now.
  virtual bool commits_after_this() = 0;
  // The weight and the bound of the commit that is about to be made.
  virtual CommitHeader next_commit() = 0;
  virtual void committed(const ServerClient::Reply&) {}

  Node& node() { return context_.node; }
  const Job& job() const { return context_.job; }
  Block parameters() { return context_.replica.parameters(); }
  // The weight of one of n equal workers: the mean of all workers' steps is the step of a whole
  // batch.
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
  void take_held(std::optional<HeldVersions> held);
  void weigh_anew();

  StrategyContext context_;
  SampleClient sample_client_;
  ServerClient client_;
  std::vector<float> base_;      // W at the last pull; empty for a phantom
  std::int64_t workers_before_;  // when what is not committed yet was computed
  Undo undo_;                    // of the average at the end
  std::int64_t iteration_ = 0;
  std::int64_t since_commit_ = 0;
  std::int64_t samples_since_commit_ = 0;
  std::int64_t commits_ = 0;
  std::optional<std::int64_t> served_;  // iterations in the last commit of this term
  Seconds commit_seconds_ = 0;          // of the last one
  std::int64_t staleness_sum_ = 0;
  std::vector<std::int64_t> staleness_;  // histogram: commits by staleness
  bool commits_now_ = false;
  Seconds began_ = 0;  // start of the iteration
  Seconds iteration_seconds_ = 0;
  Seconds waited_ = 0;
  bool over_ = false;
  bool is_cut_off_ = false;  // the term
};

// Fits the states of methods whose workers are Committers and whose service is a SampleServer
// (Method::fit). The statistics of those who are gone are added to those of the first who stays,
// except their number of commits, which is each worker's own. Servers weight commits by the number
// of workers, so what was held back is scaled with it.
MethodState fit_committers(const MethodState& before, const Refit& refit);

// Statistics of all workers' commits, from their farewells.
struct CommitCounts {
  std::vector<std::int64_t> commits;    // by worker
  std::int64_t staleness_sum = 0;       // of all commits
  std::vector<std::int64_t> staleness;  // histogram: commits of staleness 0 to 63, and 64 or more

  static CommitCounts of(const std::vector<std::vector<std::int64_t>>& farewells);
  Figures figures() const;  // for the summary
};

}  // namespace motley
