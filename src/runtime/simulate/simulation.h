// Simulation: a run on virtual time, term after term.
//
//   simulation.cc          the terms: a cluster each, workers, servers and service on it
//   simulation_members.cc  what happens between two terms if members are lost, leave or come
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "runtime/run/fit_state.h"
#include "runtime/run/member_job.h"
#include "runtime/run/membership.h"
#include "runtime/run/run_logic.h"
#include "runtime/run/run_position.h"
#include "runtime/run/succession.h"
#include "runtime/run/term_log.h"
#include "runtime/run/what_follows.h"
#include "runtime/simulate/member_events.h"
#include "sim/cluster.h"
#include "sync/loop.h"
#include "sync/ring_meeting.h"

namespace motley {

class Simulation {
 public:
  // The references must outlive it.
  Simulation(const Job& job, Task& task, RunMonitor& monitor);
  ~Simulation();

  // Goes on from a checkpoint.
  void restore_all(const State& from);
  RunOutcome run();

 private:
  // One simulated worker, with its own replica like a real one.
  struct Worker final : public Observer {
    Worker(Simulation& simulation, int its_id);

    void train_on(Node& node);
    State whole_state();
    void restore_from(const State& state);
    // The term was cut off. nullopt if the method cannot go on.
    std::optional<Survivor> settle();

    void on_step(Seconds seconds, const Progress& progress, const WorkerResult& so_far) override;
    void on_snapshot(Seconds seconds, const Progress& progress, Replica& its_replica) override;

    Simulation& sim;
    Rank rank = 0;  // in the term
    const int id;
    std::unique_ptr<Replica> replica;
    Journal journal;
    State kept;                          // from the last term; empty in the first one
    std::unique_ptr<Training> training;  // of this term
    std::int64_t cluster_samples = 0;    // at its last step
    std::int64_t asked = 0;              // how often it has asked whether to stop, in this term
  };
  struct Server {
    explicit Server(int its_id) : id(its_id) {}

    const int id;
    Journal journal;
    KeptState kept;
    Figures figures;  // set when it is done
  };

  bool take_term();
  void begin_term();
  void start_all();
  bool run_cluster();
  void forget_cluster();
  void keep_state(std::int64_t used, bool is_over);
  void begin_anew();
  // Returns false if a member was lost meanwhile.
  bool end_run();
  State whole_state();
  void restore_processes(const State& state);
  void take_over(const MemberChange& workers, const MemberChange& servers);

  // simulation_members.cc
  void go_on_with_saved_members(const State& from);
  void plan_member_events();
  bool is_change_due() const;
  void go_on_without_lost();
  void change_in_order();
  void apply_events(bool is_in_order);
  void lose(ProcessId process);
  void throw_if_nobody_is_left() const;
  void admit(int id);
  void wait_for_enough(const State& state, const std::optional<Continuation>& cut_off);
  State state_of_next(const State& state, const std::optional<Continuation>& cut_off) const;
  void go_on_with_members(const State& state, const std::optional<Continuation>& cut_off);
  std::vector<MemberRecord> history() const;
  void decide(const std::string& what, const std::string& why);
  std::optional<Rank> rank_of(ProcessId process) const;
  Present present() const { return {members_, term_members_.servers}; }
  TermMembers next_members() const {
    return members_of_term(run_job_, members_.ids(), server_members_.ids());
  }

  // Whether workers should end the term early, in order.
  bool wants_end() const { return logic_.stopped().has_value() || is_change_due(); }
  bool stop_requested(Worker& worker);
  RingMeeting::Ground ground();
  RingEdge edge(Rank from, Rank to) const;
  void tell_members();
  void tell_news(Worker& worker, const WorkerResult& so_far);
  void tell_service_news();
  void on_step(Rank rank, Seconds seconds, const Progress& progress);
  void evaluate(const SnapshotInfo& whole);
  std::vector<DoneInfo> results();
  RunOutcome outcome();

  Rank rank_of_server(std::size_t server) const {
    return job_.cluster.workers + static_cast<Rank>(server);
  }
  std::int64_t samples_used() const;
  std::int64_t bytes_sent(Rank rank) const;
  std::vector<std::int64_t> all_bytes_sent() const;
  std::int64_t events() const;
  Term& term() { return position_.term; }
  const Term& term() const { return position_.term; }
  LedgerOptions ledger() const { return ledger_options(job_, training_samples_, term()); }
  // Otherwise the whole run is one term.
  bool has_terms() const { return checkpoints() || has_member_events_; }
  // "auto" is none: a simulation is soon repeated.
  bool checkpoints() const { return run_job_.train.checkpoint_every > 0; }

  const Job& run_job_;
  Job job_;  // of the term under way
  Task& task_;
  RunMonitor& monitor_;
  const std::int64_t training_samples_;
  RunLogic logic_;
  Membership members_;
  Membership server_members_;
  TermMembers term_members_;  // of the term under way
  std::set<ProcessId> lost_;  // of them
  MemberEvents member_events_;
  const bool has_member_events_;
  TermLog term_log_;
  Outlook outlook_;      // of the term under way
  Seconds went_on_ = 0;  // when the members last changed
  // Of the term under way: `bytes_sent` and `events` are those of earlier terms.
  RunPosition position_ = first_position(job_);
  std::unique_ptr<SimCluster> cluster_;   // of this term
  std::unique_ptr<RingMeeting> meeting_;  // null if there are few workers
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::unique_ptr<Server>> servers_;
  ServiceResult service_;
  KeptState service_kept_;
  Dealings dealings_;
  Journal service_journal_;
  WorkerNews news_;  // reused for every report, so that its memory is too
  WorkerNews service_news_;
  WorkerNews server_news_;
  std::int64_t most_asked_ = 0;
  std::optional<std::int64_t> stops_at_;
};

}  // namespace motley
