// The messages between workers and coordinator about ASHL's plan: profiles as notes of the sample
// client (motley/sync/sample_client.h), orders on kAshlOrders.
#pragma once

#include <cstdint>

#include "sync/ashl/plan.h"

namespace motley {

inline constexpr Channel kAshlOrders = method_channel(0);  // from the coordinator

// The rounds of one worker in one stage.
struct RoundOrder {
  std::int64_t iterations = 1;  // H_i
  double ratio = 1;             // R_i
  Seconds seconds = 0;          // planned time of a round; 0 if not known

  void state(Archive& archive) {
    archive("iterations", iterations);
    archive("ratio", ratio);
    archive("seconds", seconds);
  }
};

// To one worker, whenever the plan or the stage changes.
struct Order {
  RoundOrder ahl;
  RoundOrder shl;
  double weight = 0;      // eta_i
  std::int64_t fine = 0;  // 1 if SHL begins or has begun

  void state(Archive& archive) {
    archive("ahl", ahl);
    archive("shl", shl);
    archive("weight", weight);
    archive("fine", fine);
  }
};

// From a worker: its measurements.
struct ProfileNote {
  WorkerProfile profile;
};

}  // namespace motley
