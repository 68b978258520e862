// ServerThreads: the parameter servers of a program's run. They live beside the workers: server s
// in the process of rank s % size, each on a thread of its own.
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

// Why waiting for the others ends early: a signal came.
std::optional<std::string> signal_before_start();

class ServerThreads {
 public:
  // Those of this worker's process. `let_in` lets a rank into the run. The job outlives them.
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
