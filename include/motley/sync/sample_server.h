// SampleServer: the coordinator's side of SampleClient (sample_client.h): answers requests for
// samples and measures how far apart the workers are.
#pragma once

#include <cstdint>
#include <vector>

#include "motley/sync/dealer.h"
#include "motley/sync/gap_meter.h"
#include "motley/sync/sample_client.h"
#include "motley/sync/service.h"

namespace motley {

// The part of a method's service that is not dealing out samples. It learns the state of the
// workers and may send them messages on a channel of its own.
class SampleServerListener {
 public:
  virtual ~SampleServerListener() = default;
  // Called for every request, after it was answered. `loss_samples` is the number of samples in its
  // loss_sum.
  virtual void on_request(Rank rank, const SampleRequest& request, std::int64_t loss_samples) = 0;
  // Called for every SampleClient::note(). Returns false if the note is invalid.
  virtual bool on_note(Rank rank, const Payload& note) = 0;
  // Called when the worker has done its part.
  virtual void on_leave(Rank rank) = 0;
};

class SampleServer {
 public:
  SampleServer(const ServiceContext& context, GapMeter gaps,
               EvaluatedModel evaluated = EvaluatedModel::kMean,
               SampleServerListener* listener = nullptr);

  // Returns when all workers have left.
  void run();

  void state(Archive& archive);

  // The following are valid after run(). The counters of every worker, one vector each.
  const std::vector<std::vector<std::int64_t>>& counts() const { return counts_; }
  // The mean number of iterations of a worker, over all terms.
  double mean_iterations() const;
  const GapMeter& gaps() const { return gaps_; }

 private:
  struct Worker {
    std::int64_t iteration = -1;  // the last one that it began
    std::int64_t samples = 0;     // in that iteration
    std::int64_t commits = 0;
    std::int64_t unshared = 0;  // iterations since the last commit
    bool left = false;
  };

  std::int64_t all_iterations() const;
  void on_request(Rank rank, Worker& worker, const SampleRequest& request);
  void note_unshared(Rank rank, Worker& worker, const SampleRequest& request);
  void on_farewell(Rank rank, Worker& worker, const Message& message);

  const ServiceContext context_;
  Dealer dealer_;
  GapMeter gaps_;
  SampleServerListener* const listener_;  // may be null
  std::vector<Worker> workers_;
  std::size_t left_ = 0;                           // how many have left
  std::int64_t iterations_before_ = 0;             // of all workers, in earlier terms
  std::vector<std::vector<std::int64_t>> counts_;  // by worker
};

}  // namespace motley
