// JoinedSession: this process's place in a run whose coordinator is another process, which also
// sends the job. `motley worker` uses it.
//
//   JoinedSession session("host:port", -1, token);
//   const Job job = ... session.job_text() ...
//   session.train(job, replica, training_samples);      // or session.run_server(job)
//
// Failure: every call may throw RunFailed with the first cause of the failure, on whichever rank.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "motley/job/job.h"
#include "motley/sync/replica.h"
#include "session/session_impl.h"

namespace motley {

class Worker;

class JoinedSession {
 public:
  // `rendezvous` is HOST:PORT; rank -1 takes any free rank. Throws Refused if the address is
  // invalid.
  JoinedSession(const std::string& rendezvous, int rank, const std::string& token);
  ~JoinedSession();
  JoinedSession(const JoinedSession&) = delete;
  JoinedSession& operator=(const JoinedSession&) = delete;

  // Workers come first, then servers.
  int rank() const { return session_.world.rank; }
  // The resolved job file of the run.
  const std::string& job_text() const { return job_text_; }

  // Takes part as a worker until the run is over.
  void train(const Job& job, Replica& replica, std::int64_t training_samples);
  // Takes part as a server until the run is over.
  void run_server(const Job& job);
  // Tells the other ranks that this process cannot take part, and why. The run fails.
  void give_up(const std::string& why);

 private:
  Session::Impl session_;  // a process has one session at a time, this one or a program's
  std::unique_ptr<Worker> worker_;
  std::string job_text_;
};

}  // namespace motley
