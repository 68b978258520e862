// JoinedSession: this process's place in a run that somebody else conducts, and whose job is given:
// what `motley worker` does.
//
//   JoinedSession session("host:port", -1, token);
//   const Job job = ... session.job_text() ...
//   session.train(job, replica, training_samples);      // or session.run_server(job)
//
// Failure: every call may throw RunFailed, with the first cause in the whole run.
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
  // The rendezvous is HOST:PORT; rank -1 is any that is free. Throws Refused when the address makes
  // no sense.
  JoinedSession(const std::string& rendezvous, int rank, const std::string& token);
  ~JoinedSession();
  JoinedSession(const JoinedSession&) = delete;
  JoinedSession& operator=(const JoinedSession&) = delete;

  // Workers first, then servers.
  int rank() const { return session_.world.rank; }
  // The resolved job file of the run.
  const std::string& job_text() const { return job_text_; }

  // A worker's part, all of it.
  void train(const Job& job, Replica& replica, std::int64_t training_samples);
  // A server's part, all of it.
  void run_server(const Job& job);
  // This process cannot take its part: tells the others why.
  void give_up(const std::string& why);

 private:
  Session::Impl session_;  // one at a time in a process, this one or a program's
  std::unique_ptr<Worker> worker_;
  std::string job_text_;
};

}  // namespace motley
