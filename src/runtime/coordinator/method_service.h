// MethodService: runs the method's service, its part on the coordinator, on a separate thread for
// one term. It can be ended before the term is over.
//
//   node.begin_term(...);
//   MethodService service(node, job, training_samples, &journal);   // starts
//   ... while (!done) { watch; service.rethrow_failure(); } ...
//   const ServiceResult result = service.finish();
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <optional>
#include <thread>
#include <vector>

#include "motley/job/job.h"
#include "motley/record/journal.h"
#include "motley/sync/dealings.h"
#include "motley/sync/service.h"
#include "motley/sync/term.h"
#include "runtime/run/wait_info.h"
#include "runtime/worker/real_node.h"

namespace motley {

class MethodService {
 public:
  // The references must outlive this object. The node is used by nobody else during the term.
  // `machines` and `dealings` are what a ServiceContext has; `kept` is written when the service
  // returns.
  MethodService(RealNode& node, const Job& job, std::int64_t training_samples, Journal* journal,
                std::vector<int> machines = {}, const Term& term = {}, KeptState* kept = nullptr,
                Dealings* dealings = nullptr);
  ~MethodService();  // ends it
  MethodService(const MethodService&) = delete;
  MethodService& operator=(const MethodService&) = delete;

  // False once the service has returned, or if the method has none.
  bool is_serving() const { return serving_; }
  // Asks for an early, orderly end: the service then tells the workers to finish.
  void request_stop() { stopping_ = true; }
  // Set if the service cannot continue before a message arrives, or has returned.
  std::optional<WaitInfo> waiting() const;
  // Throws RunFailed if the service has failed.
  void rethrow_failure();

  // Waits until the service returns. Throws RunFailed.
  ServiceResult finish();
  // Interrupts the service, and with it the node's term; its result is lost. Returns when it has
  // returned.
  void end();

 private:
  void serve_on();

  RealNode& node_;
  const Job& job_;
  const std::int64_t training_samples_;
  Journal* const journal_;
  const std::vector<int> machines_;
  const Term term_;
  KeptState* const kept_;
  Dealings* const dealings_;
  std::atomic<bool> serving_ = true;
  std::atomic<bool> stopping_ = false;
  // Written by the thread; read once it is no longer serving.
  ServiceResult result_;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace motley
