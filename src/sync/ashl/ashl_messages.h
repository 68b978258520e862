// What workers and coordinator say to each other about ASHL's plan: profiles on the way of requests
// for samples (sync/sample_client.h), orders on Channel::kPlan.
#pragma once

#include <cstdint>

#include "sync/ashl/plan.h"

namespace motley {

// How one worker does its rounds in one stage.
struct RoundOrder {
  std::int64_t iterations = 1;  // H_i
  double ratio = 1;             // R_i
  Seconds seconds = 0;          // that such a round should take; 0: not known
};

// To one worker, whenever something has changed.
struct Order {
  RoundOrder ahl;
  RoundOrder shl;
  double weight = 0;      // eta_i
  std::int64_t fine = 0;  // 1: SHL from now on
};

// From a worker: what it has measured of itself.
struct ProfileNote {
  WorkerProfile profile;
};

}  // namespace motley
