// JoinedSession: this process's place in a run whose coordinator is another process, which also
// sends the job. `motley worker` uses it.
//
//   take_part_in_run({.rendezvous = "host:port", .token = token}, [](JoinedSession& session) {
//     const Job job = ... session.job_text() ...
//     session.train(job, replica, training_samples);      // or session.run_server(job)
//   });
//
// SIGTERM is a notice that this process is about to be taken away: the first one makes a worker
// leave in order, while the others go on. A run that is not elastic ends early, in order. A server
// cannot leave: only a second SIGTERM, which ends every process at once, ends it.
//
// Failure: every call may throw RunFailed with the first cause of the failure, on whichever rank.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "motley/job/job.h"
#include "motley/sync/replica.h"
#include "session/after_session.h"
#include "session/session_impl.h"

namespace motley {

class Worker;

// Where and how to join.
struct Joining {
  std::string rendezvous;  // HOST:PORT
  int rank = -1;           // -1: any that is free
  std::string token = {};
  ReturnRules returns = {};
  Seconds patience = 60;  // until the coordinator answers
  // What people are told, one line each. If empty, nothing.
  std::function<void(const std::string& line)> say = {};
};

class JoinedSession {
 public:
  // Waits for the coordinator. Throws Refused if the address is invalid.
  explicit JoinedSession(const Joining& joining);
  ~JoinedSession();
  JoinedSession(const JoinedSession&) = delete;
  JoinedSession& operator=(const JoinedSession&) = delete;

  // Returns when the coordinator has sent the job.
  void join();

  // Whether this process is to run_server() instead of train().
  bool is_server() const;
  // The resolved job file of the run.
  const std::string& job_text() const { return job_text_; }

  // Takes part as a worker until the run is over or it has left.
  void train(const Job& job, Replica& replica, std::int64_t training_samples);
  // Takes part as a server until the run is over.
  void run_server(const Job& job);
  // Tells the other ranks that this process cannot take part, and why. The run fails.
  void give_up(const std::string& why);
  // The same if none of these has been called: nobody has been told.
  void give_up_unless_told(const std::exception_ptr& error);

  // Call when it is over.
  SessionEnd end() const;
  // What people are told of an end in order, if it was not the end of the run.
  std::optional<std::string> remark() const;
  // Whether the run goes on without those that it loses, as far as is known.
  bool is_elastic() const { return is_elastic_; }

 private:
  Session::Impl session_;  // a process has one session at a time, this one or a program's
  std::unique_ptr<Worker> worker_;
  std::string job_text_;
  bool is_elastic_ = true;
  bool answers_ = false;  // train(), run_server() or give_up() tells the others of a failure
};

// Joins a run and takes part in it until it is over, has failed or this process has left it. `body`
// calls train() or run_server(). If the run loses this process without a word, it joins again
// (session/after_session.h): `body` is called for each session, and the job may be another one.
void take_part_in_run(const Joining& joining, const std::function<void(JoinedSession&)>& body);

}  // namespace motley
