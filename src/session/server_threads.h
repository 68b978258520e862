// ServerThreads: the parameter servers of a program's run. They share the workers' processes:
// server s runs in the process of rank s % size, on a thread of its own.
#pragma once

#include <functional>
#include <list>
#include <optional>
#include <string>
#include <thread>

#include "base/error.h"
#include "motley/job/job.h"
#include "runtime/rendezvous/rendezvous.h"

namespace motley {

// The reason to stop waiting for the other ranks, if a signal has arrived.
std::optional<std::string> signal_before_start();

class ServerThreads {
 public:
  // Starts the servers of this worker's process. `let_in` admits a rank to the run. The job must
  // outlive the threads.
  ServerThreads(const Job& job, Rank worker, std::function<Result<Admission>(Rank)> let_in);
  ~ServerThreads() { join(); }
  ServerThreads(const ServerThreads&) = delete;
  ServerThreads& operator=(const ServerThreads&) = delete;

  void join();

 private:
  void run_server(const Job& job, Rank rank);

  const std::function<Result<Admission>(Rank)> let_in_;
  std::list<std::thread> threads_;
};

}  // namespace motley
