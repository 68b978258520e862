// MethodService: the method's part on the coordinator, on a thread of its own beside the watching.
// It has a beginning and an end: one can be ended before the run is over, and another made on the
// same Node.
//
//   MethodService service(node, job, training_samples, &journal);   // begins
//   ... while (!done) { watch; service.rethrow_failure(); } ...
//   const ServiceResult result = service.end();
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <thread>

#include "motley/job/job.h"
#include "motley/node/node.h"
#include "motley/record/journal.h"
#include "motley/sync/service.h"

namespace motley {

class MethodService {
 public:
  // The references outlive it.
  MethodService(Node& node, const Job& job, std::int64_t training_samples, Journal* journal);
  ~MethodService();  // ends it
  MethodService(const MethodService&) = delete;
  MethodService& operator=(const MethodService&) = delete;

  // False once it has come to its own end, or when the method has none.
  bool is_serving() const { return serving_; }
  // The run ends early, in order: the service is to lead the workers to their end.
  void request_stop() { stopping_ = true; }
  // Throws RunFailed when the service has failed.
  void rethrow_failure();

  // Waits until the run is over for the service, too. Throws RunFailed.
  ServiceResult finish();
  // Ends it now, wherever it is; what it was doing is lost. Returns within kSlice.
  void end();

  static constexpr Seconds kSlice = 0.1;

 private:
  class EndableNode;

  void serve_on(Node& node);

  const Job& job_;
  const std::int64_t training_samples_;
  Journal* const journal_;
  std::atomic<bool> serving_ = true;
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> ending_ = false;
  // Of the thread, until it is no longer serving.
  ServiceResult result_;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace motley
