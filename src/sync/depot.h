// Depot: the coordinator's side of Supply (supply.h): deals out samples, and watches how far apart
// the workers are.
#pragma once

#include <cstdint>
#include <vector>

#include "sync/dealer.h"
#include "sync/gap_meter.h"
#include "sync/service.h"
#include "sync/supply.h"

namespace motley {

class Depot {
 public:
  Depot(const ServiceContext& context, GapMeter gaps);

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

  void on_request(Rank rank, Worker& worker, const SupplyRequest& request);
  void on_farewell(Rank rank, Worker& worker, const Message& message);

  const ServiceContext context_;
  Dealer dealer_;
  GapMeter gaps_;
  std::vector<Worker> workers_;
  std::vector<std::vector<std::int64_t>> counts_;  // by worker
};

}  // namespace motley
