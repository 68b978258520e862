// One process's part in a run. Programs use it through motley/run.h, `motley worker` through
// session/joined_session.h.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "motley/run.h"
#include "runtime/worker/worker.h"
#include "session/host.h"
#include "session/loss_notice.h"
#include "session/server_threads.h"
#include "session/session_impl.h"
#include "session/terminate_handler.h"

namespace motley {

class Run::Impl {
 public:
  // A program's run.
  Impl(Session::Impl& session, const Options& options, Replica& replica, std::int64_t samples,
       RunHooks hooks);
  // Part of a run that `worker` has joined, with the job that its coordinator sent.
  Impl(Session::Impl& session, Worker& worker, const Job& job, Replica& replica,
       std::int64_t samples);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  std::optional<Work> begin();
  Progress finish(StepResult result);
  bool applied() const { return applied_; }
  void fit(const std::function<double(const Work&)>& compute);
  void in_step(const std::function<void()>& body);
  void stop(const std::string& why);

  const Job& job() const { return job_; }
  bool steps_together() const { return steps_together_; }
  std::vector<double> counts() const;
  const RunResult& result() const;

 private:
  // One run of a session at a time.
  class Turn {
   public:
    explicit Turn(Session::Impl& session);
    ~Turn() { session_.has_run = false; }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    Session::Impl& session_;
  };

  bool under_way() const { return !over_ && !why_failed_; }
  void expect_turn(bool is_its_turn, const char* otherwise);
  Peer peer_of(Replica& replica, const std::string& settings) const;
  std::shared_ptr<const ResumePoint> resume_point(const std::string& where) const;
  void open_rendezvous(const Peer& me, std::int64_t samples, EvaluateFunction evaluate,
                       const std::optional<std::string>& resume);
  void join_run(const Peer& me);
  void announce_evaluation();

  // Runs `body`; an exception from it fails the run. Exceptions of the program's hooks are rethrown
  // unchanged; if another rank failed, RunFailed is thrown with the first cause.
  template <class Body>
  auto guarded(const Body& body) -> decltype(body());
  [[noreturn]] void fail_with_others(const std::exception_ptr& error);
  void fail_here(const std::exception_ptr& error);
  void leave_early();
  void clean_up(const std::string& why);

  void obey_signals();
  void leave();
  void take_part();
  void end_part(ElasticNote::Kind how);
  int respawn() const;
  void end();
  void take(const Summary& summary);

  Session::Impl& session_;
  std::optional<Turn> turn_;  // held until the run is over
  const Job job_;
  const bool steps_together_;
  const std::function<void(std::int64_t, const Evaluation&)> on_evaluation_ = {};
  std::unique_ptr<Host> host_;              // on rank 0
  std::unique_ptr<ServerThreads> servers_;  // of a program
  std::unique_ptr<Worker> owned_;
  Worker* worker_ = nullptr;
  bool asked_ = false;           // has asked the run to stop, or to leave it
  bool takes_part_ = false;      // in an elastic run, and the launcher knows
  bool has_work_ = false;        // between begin() and finish()
  bool applied_ = false;         // the last step
  bool all_have_heard_ = false;  // of an evaluation, in the last step
  bool in_call_ = false;         // a call is in progress; hooks run inside it
  bool over_ = false;
  std::optional<std::string> why_failed_;
  RunResult result_;
  std::optional<TerminateNotice> terminate_notice_;
};

}  // namespace motley
