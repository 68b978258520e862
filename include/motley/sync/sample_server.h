// SampleServer: the coordinator's side of SampleClient (sample_client.h): answers requests for
// samples, and watches how far apart the workers are.
#pragma once

#include <cstdint>
#include <vector>

#include "motley/sync/dealer.h"
#include "motley/sync/gap_meter.h"
#include "motley/sync/sample_client.h"
#include "motley/sync/service.h"

namespace motley {

// What a method's service does beside dealing out samples: it hears where the workers stand, and
// may send them something on a channel of its own.
class SampleServerListener {
 public:
  virtual ~SampleServerListener() = default;
  // Every request, after it was answered; `loss_samples` is how many samples its loss_sum is of.
  virtual void on_request(Rank rank, const SampleRequest& request, std::int64_t loss_samples) = 0;
  // What a worker has to say beside its requests. False: it makes no sense.
  virtual bool on_note(Rank rank, const Payload& note) = 0;
  // It has done its part.
  virtual void on_leave(Rank rank) = 0;
};

class SampleServer {
 public:
  SampleServer(const ServiceContext& context, GapMeter gaps, Evaluated evaluated = Evaluated::kMean,
               SampleServerListener* listener = nullptr);

  // Until all workers have left.
  void run();

  // After that. What every worker counted, one vector each.
  const std::vector<std::vector<std::int64_t>>& counts() const { return counts_; }
  // The mean of the last iterations that they did, counted from 1.
  double mean_iterations() const;
  const GapMeter& gaps() const { return gaps_; }

 private:
  struct Worker {
    std::int64_t iteration = -1;  // that it began last
    std::int64_t samples = 0;     // that it computes in it
    bool left = false;
  };

  void on_request(Rank rank, Worker& worker, const SampleRequest& request);
  void on_farewell(Rank rank, Worker& worker, const Message& message);

  const ServiceContext context_;
  Dealer dealer_;
  GapMeter gaps_;
  SampleServerListener* const listener_;  // may be none
  std::vector<Worker> workers_;
  std::size_t left_ = 0;                           // of them
  std::vector<std::vector<std::int64_t>> counts_;  // by worker
};

}  // namespace motley
