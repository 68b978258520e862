// The coordinator of a real run, as its parts share it:
//
//   coordinator.cc          how a run begins, ends and fails
//   coordinator_terms.cc    one term after the other, and what a loss leaves
//   coordinator_members.cc  who takes part in the next term, and what each of them gets
//   coordinator_links.cc    whether members, and newcomers, reach each other
//   coordinator_status.cc   what those who ask are told, and who waits for whom when nothing moves
//   coordinator_faults.cc   what the job wants to happen to processes that were started here
//   coordinator_events.cc   messages, losses, timeouts and signals; everything waits in
//   watch_until()
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fabric/driver.h"
#include "fabric/tcp.h"
#include "motley/state/kept_state.h"
#include "motley/sync/method.h"
#include "runtime/coordinator/checkpoint_handover.h"
#include "runtime/coordinator/control_sender.h"
#include "runtime/coordinator/coordinator.h"
#include "runtime/coordinator/cut_links.h"
#include "runtime/coordinator/deadlock_watch.h"
#include "runtime/coordinator/evaluation_thread.h"
#include "runtime/coordinator/failure_watch.h"
#include "runtime/coordinator/members.h"
#include "runtime/coordinator/method_service.h"
#include "runtime/coordinator/planned_faults.h"
#include "runtime/coordinator/stall_watch.h"
#include "runtime/coordinator/state_inbox.h"
#include "runtime/rendezvous/run_status.h"
#include "runtime/run/fit_state.h"
#include "runtime/run/membership.h"
#include "runtime/run/run_logic.h"
#include "runtime/run/run_position.h"
#include "runtime/run/state_sender.h"
#include "runtime/run/succession.h"
#include "runtime/run/term_log.h"
#include "runtime/run/what_follows.h"

namespace motley {

class Coordinator::Impl final : private FabricSink {
 public:
  Impl(const Job& job, Task& task, RunMonitor& monitor, Gathering gathering);
  ~Impl() override = default;

  Endpoint rendezvous() const { return members_.rendezvous().endpoint(); }
  const std::string& token() const { return gathering_.host.token; }
  Admission admission_of_host() const;
  RunOutcome run();

 private:
  // What the next term begins with. The members that had a part in it, by rank.
  struct Held {
    // Of the whole run. A worker that keeps its model itself has none in it.
    State state;
    std::vector<Rank> processes;
    TermMembers members;
    std::optional<Continuation> cut_off;  // unless the last term has ended in order
    // Processes whose own model is not the one of the state.
    std::set<Rank> stale;
    // Newcomers that have no model yet.
    std::set<Rank> without_model;
    // What those who had a part in it have done is known here, so they may leave.
    bool may_leave = false;
  };

  // coordinator.cc
  void conduct();
  void introduce(Rank process);
  void begin_clock();
  void finish();
  void dismiss_workers();
  void abort(const std::string& reason);

  // coordinator_terms.cc
  void prepare_first();
  void begin_term();
  bool end_term();
  bool end_run(bool save);
  void go_on_after_loss();
  void cut_off();
  void hold_after_cut();
  void hold_in_order(bool save);
  void collect();
  Continuation continuation() const;
  void put_parts(const std::vector<StateInbox::Arrived>& arrived);
  void forget_term();

  // coordinator_members.cc
  void prepare_next();
  void wait_for_enough();
  bool has_enough();
  bool awaits_servers() const;
  void save_before_waiting();
  void throw_if_nobody_is_left() const;
  void admit_newcomers();
  void admit(Rank process);
  bool fetch_models();
  bool fetch(const std::vector<Rank>& processes);
  EndedTerm ended() const;
  TermMembers members_now() const;
  State state_of_next();
  std::vector<Rank> leavers() const;
  void let_leavers_go();
  void plan();
  std::vector<Rank> next_members() const;
  std::vector<State> parts_for_members(const State& next, const Held& before, int workers_before);
  void announce(const std::vector<State>& parts);
  NextTermInfo next_term() const;
  void begin_checkpoint(std::int64_t number);
  State position_state(const std::vector<Rank>& processes, std::vector<int> ids);
  std::vector<MemberRecord> history() const;
  std::vector<std::int64_t> all_bytes_sent(const std::vector<Rank>& processes) const;
  const ProcessState& known(Rank process) const;
  Rank held_rank(Rank process) const;
  std::string held_path(Rank process) const;
  bool has_model(Rank process) const;
  std::vector<Rank> held_survivors() const;
  bool is_newcomer(int id) const;
  bool is_candidate(Rank process) const;
  bool is_change_due() const;
  bool is_broken() const { return roster_.is_broken() || broken_link_; }
  std::vector<Rank> workers_of_term() const;
  LedgerOptions ledger() const { return ledger_options(job_, dataset_, position_.term); }
  void decide(const std::string& what, const std::string& why);

  // coordinator_links.cc
  bool on_peer_lost(Rank process, const std::optional<LostInfo>& info);
  bool on_reached(Rank process, const std::optional<ReachedInfo>& info);
  void look_at_links();
  void prove_links();
  void look_at_newcomer(Rank process);
  std::vector<Rank> doubtful_for(Rank newcomer) const;
  void ask_to_reach(Rank process, const std::vector<Rank>& others);
  std::vector<Rank> who_goes_of(const std::vector<std::pair<Rank, Rank>>& cut) const;
  std::pair<std::string, std::string> hosts_of(Rank one, Rank other) const;
  std::string between(Rank one, Rank other) const;

  // coordinator_status.cc
  void answer_requests();
  RunStatus status() const;
  MemberStatus status_of(const MemberRecord& record) const;
  std::string doing(const Activity& activity) const;
  void begin_stall_watch();
  void note_waits(Rank process, const WaitInfo& info);
  void note_progress(const ProcessState& before, Rank process, const WorkerFigures& figures);
  void look_at_stall();
  std::optional<Rank> rank_of(Rank process) const;

  // coordinator_faults.cc
  void look_at_faults(Seconds now);
  void carry_out(const PlannedFault& fault);
  std::optional<Rank> process_to_strike(ProcessId id) const;
  void note_time();

  // coordinator_events.cc
  template <class Condition>
  void watch_until(Condition reached) {
    while (!reached()) {
      watch();
    }
  }
  void watch();
  std::optional<Message> next_message();
  void handle(const Message& message);
  bool understand(ProcessState& process, const Message& message);
  bool understand_term(ProcessState& process, const Message& message);
  bool on_ready(Rank process, const std::optional<ReadyInfo>& info);
  bool on_failed(Rank process, const std::optional<FailedInfo>& info);
  bool on_progress(Rank process, std::optional<ProgressInfo> info);
  bool on_snapshot(Rank process, std::optional<SnapshotInfo> info);
  bool on_state(const Message& message);
  void look_at_rendezvous();
  void look_at_losses();
  void lose(const Loss& loss);
  void refuse(Rank process, const std::string& why);
  void release(Rank process);
  void send_heartbeats();
  void tell_counts();
  void look_at_monitor();
  void tell_to_cut();
  void tell_to_stop();
  void look_at_service();
  void take_metrics();
  void tell_members();
  void tell_service_news();
  void suspect(Rank process, const std::string& what, bool consequence);
  void on_message(Message message) override;
  void on_peer_lost(Rank peer, const std::string& reason) override;

  const Job& run_job_;
  Job job_;  // of the term
  RunMonitor& monitor_;
  const Gathering gathering_;
  const std::string token_;  // of the fabric
  Driver driver_;
  RealNode node_;          // hears control messages
  RealNode service_node_;  // of the method's service
  TcpFabric fabric_;
  const std::int64_t dataset_;  // number of training samples
  RunLogic logic_;
  std::vector<double> counts_told_;
  EvaluationThread evaluator_;
  // Of the term under way. Its `bytes_sent` is not kept up to date: all_bytes_sent() is.
  RunPosition position_ = first_position(run_job_);
  KeptState service_kept_;
  Dealings dealings_;
  CheckpointHandover checkpoint_{run_job_, monitor_, evaluator_};
  StateSender state_sender_;
  StateInbox inbox_;
  std::int64_t requests_ = 0;           // for states so far
  Seconds looked_ = 0;                  // time of the last tick
  std::optional<Snapshot> last_model_;  // the final model of the run
  RunOutcome outcome_;
  Journal service_journal_;
  WorkerNews service_news_;
  bool introduced_ = false;  // workers can be reached
  bool told_to_stop_ = false;
  bool told_to_cut_ = false;   // in this term
  std::int64_t began_ns_ = 0;  // the beginning of the run; 0: it has not begun
  Members members_;
  Roster& roster_ = members_.roster();
  ControlSender control_{node_, fabric_, roster_};
  LocalProcesses& processes_ = members_.processes();
  FailureWatch failures_{members_, {gathering_.patience, run_job_.cluster.heartbeat}};
  PlannedFaults faults_{run_job_.cluster};
  DeadlockWatch deadlock_;
  std::optional<StallWatch> stall_;  // of this term
  Seconds answered_ = 0;             // when the status was last set
  CutLinks links_{4 * run_job_.cluster.heartbeat};
  Membership membership_{run_job_.cluster.workers};
  Membership server_membership_{servers_of(run_job_), ProcessKind::kServer};
  std::size_t told_members_ = 0;  // changes of members that the monitor knows
  TermLog term_log_;
  TermMembers term_members_ = members_now();
  std::set<ProcessId> lost_;                  // of `held_` or of the term under way
  std::map<Rank, ProcessState> gone_;         // who was lost since the last term began
  std::vector<Rank> dropped_;                 // the same, to be told in the next announcement
  std::vector<std::pair<Rank, Rank>> mends_;  // connections to be made anew
  // Hosts whose members did not reach each other when that was last tried.
  std::set<std::pair<std::string, std::string>> cut_hosts_;
  std::int64_t reach_requests_ = 0;
  bool broken_link_ = false;  // the term cannot go on as it is
  std::string why_broken_;
  bool begins_at_once_ = false;             // the next term
  std::optional<Held> held_;                // between two terms
  ServiceResult service_result_;            // of the last term
  std::unique_ptr<MethodService> service_;  // of this term; null between two terms
};

}  // namespace motley
