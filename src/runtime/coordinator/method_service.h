// MethodService: runs the method's service, its part on the coordinator, on a separate thread. It
// can be ended before the run is over, and another one can then be started on the same Node.
//
//   MethodService service(node, job, training_samples, &journal);   // starts
//   ... while (!done) { watch; service.rethrow_failure(); } ...
//   const ServiceResult result = service.finish();
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "motley/job/job.h"
#include "motley/record/journal.h"
#include "motley/sync/service.h"
#include "runtime/run/wait_info.h"
#include "runtime/worker/real_node.h"

namespace motley {

class MethodService {
 public:
  // The references must outlive this object. `machines` is what a ServiceContext has.
  MethodService(RealNode& node, const Job& job, std::int64_t training_samples, Journal* journal,
                std::vector<int> machines = {});
  ~MethodService();  // ends it
  MethodService(const MethodService&) = delete;
  MethodService& operator=(const MethodService&) = delete;

  // False once the service has returned, or if the method has none.
  bool is_serving() const { return serving_; }
  // Asks for an early, orderly end: the service then tells the workers to finish.
  void request_stop() { stopping_ = true; }
  // Set if the service cannot continue before a message arrives, or has returned. Never set if it
  // has spawned activities: they are not watched.
  std::optional<WaitInfo> waiting() const;
  // Throws RunFailed if the service has failed.
  void rethrow_failure();

  // Waits until the service returns. Throws RunFailed.
  ServiceResult finish();
  // Interrupts the service; its result is lost. Returns within about kSlice.
  void end();

  static constexpr Seconds kSlice = 0.1;

 private:
  class EndableNode;

  void serve_on();
  void waits(const WaitInfo& wait);

  RealNode& node_;
  const Job& job_;
  const std::int64_t training_samples_;
  Journal* const journal_;
  const std::vector<int> machines_;
  std::atomic<bool> serving_ = true;
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> ending_ = false;
  std::atomic<bool> has_spawned_ = false;
  mutable std::mutex wait_mutex_;
  std::optional<WaitInfo> wait_;  // the last slice of waiting without a message
  // Written by the thread; read once it is no longer serving.
  ServiceResult result_;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace motley
