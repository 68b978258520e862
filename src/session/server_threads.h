// ServerThreads: the parameter servers of a program's run. They share the workers' processes:
// server s runs in the process of rank s % size, on a thread of its own.
#pragma once

#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "base/error.h"
#include "motley/job/job.h"
#include "runtime/rendezvous/rendezvous.h"

namespace motley {

class Worker;

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

  // The process is about to go: the others take its servers for lost.
  void drop_out();
  void join();

 private:
  void run_server(const Job& job, Rank rank);
  void begin_to_serve(Worker& server);
  void end_to_serve(Worker& server);

  const std::function<Result<Admission>(Rank)> let_in_;
  std::mutex mutex_;
  bool drops_out_ = false;     // guarded by mutex_
  std::set<Worker*> serving_;  // guarded by mutex_
  std::list<std::thread> threads_;
};

}  // namespace motley
