#include "runtime/simulate/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "motley/sync/method.h"
#include "runtime/coordinator/roster.h"
#include "sim/network.h"

namespace motley {
namespace {

constexpr const char* kMembersPart = "member_events";  // of the state of a run

// Of each rank, as in sim/network.h: without hosts, worker i is on machine i and each server on its
// own.
std::vector<std::string> machine_names(const Job& job) {
  const ClusterSpec& cluster = job.cluster;
  std::vector<std::string> names;
  for (int i = 0; i < cluster.workers; ++i) {
    names.push_back(
        fmt::format("{}", cluster.hosts.empty() ? i : cluster.hosts[static_cast<std::size_t>(i)]));
  }
  for (int i = 0; i < servers_of(job); ++i) {
    names.push_back(cluster.server_hosts.empty()
                        ? fmt::format("server {}", i)
                        : fmt::format("{}", cluster.server_hosts[static_cast<std::size_t>(i)]));
  }
  return names;
}

}  // namespace

Simulation::Worker::Worker(Simulation& simulation, int its_id)
    : sim(simulation), id(its_id), replica(simulation.task_.make_replica()) {}

void Simulation::Worker::train_on(Node& node) {
  training = std::make_unique<Training>(
      node, Part{sim.job_, sim.training_samples_, *replica, *this,
                 [this] { return sim.stop_requested(*this); }, sim.meeting_.get(), &journal,
                 sim.term(), kept.empty() ? nullptr : &kept});
  train_term(node, *training, *replica);
  if (!sim.has_terms()) {
    training->end_run();  // the run has one term
  }
}

State Simulation::Worker::whole_state() {
  State state;
  state.put("training", kept);
  state.put("replica", state_of(*replica));
  return state;
}

void Simulation::Worker::restore_from(const State& state) {
  kept = state.part("training");
  restore(*replica, state.part("replica"));
}

std::optional<Survivor> Simulation::Worker::settle() {
  if (!training) {  // the term was cut off before it began
    return Survivor{.settled = {.used = sim.term().begin}};
  }
  const auto survivor = training->settle();
  kept = state_of(*training);
  return survivor;
}

void Simulation::Worker::on_step(Seconds seconds, const Progress& progress,
                                 const WorkerResult& so_far) {
  cluster_samples = progress.samples;
  sim.tell_news(*this, so_far);
  sim.on_step(rank, seconds, progress);
}

void Simulation::Worker::on_snapshot(Seconds seconds, const Progress& progress,
                                     Replica& its_replica) {
  const SnapshotNote note{seconds, progress.samples, false, *progress.evaluate, {}};
  if (const auto whole = sim.logic_.on_snapshot({note, snapshot_of(its_replica)})) {
    sim.evaluate(*whole);
  }
}

Simulation::Simulation(const Job& job, Task& task, RunMonitor& monitor)
    : run_job_(job),
      job_(job),
      task_(task),
      monitor_(monitor),
      training_samples_(task.training_samples()),
      logic_(rules_of(job, training_samples_)),
      members_(job.cluster.workers),
      server_members_(servers_of(job), ProcessKind::kServer),
      member_events_(job.cluster),
      has_member_events_(member_events_.any()) {
  term_members_ = next_members();
  take_over(MemberChange::first_stay(0, job.cluster.workers),
            MemberChange::first_stay(0, servers_of(job)));
}

Simulation::~Simulation() = default;

// The members are others. Whoever stays keeps its journal and its replica.
void Simulation::take_over(const MemberChange& workers, const MemberChange& servers) {
  auto workers_before = std::exchange(workers_, {});
  auto servers_before = std::exchange(servers_, {});
  for (std::size_t i = 0; i < term_members_.workers.size(); ++i) {
    const auto& previous = workers.previous[i];
    workers_.push_back(previous ? std::move(workers_before[static_cast<std::size_t>(*previous)])
                                : std::make_unique<Worker>(*this, term_members_.workers[i]));
    workers_.back()->training.reset();
    workers_.back()->rank = static_cast<Rank>(i);
  }
  for (std::size_t i = 0; i < term_members_.servers.size(); ++i) {
    const auto& previous = servers.previous[i];
    servers_.push_back(previous ? std::move(servers_before[static_cast<std::size_t>(*previous)])
                                : std::make_unique<Server>(term_members_.servers[i]));
  }
}

void Simulation::restore_all(const State& from) {
  term_log_.resume();
  go_on_with_saved_members(from);
  restore_processes(fitted(from, job_, training_samples_));
  throw_if_complete(position_, logic_);
  members_.go_on(term_members_.workers, position_.members, position_.seconds);
  server_members_.go_on(all_servers(run_job_), position_.members, position_.seconds);
  if (from.has(kMembersPart)) {
    restore(member_events_, from.part(kMembersPart));
  } else {
    member_events_.skip_until(position_.seconds);  // a checkpoint of a real run
  }
  outlook_ = member_events_.outlook(present());
  if (outlook_.change && *outlook_.change <= position_.seconds) {
    change_in_order();  // as the run that wrote the checkpoint did
  }
}

void Simulation::restore_processes(const State& state) {
  restore_position(state, job_, position_, logic_);
  service_kept_.state() = state.part("service");
  for (auto& worker : workers_) {
    worker->restore_from(state_of_process(state, job_, worker->rank));
  }
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    servers_[i]->kept.state() = state_of_process(state, job_, rank_of_server(i));
  }
}

RunOutcome Simulation::run() {
  monitor_.on_begin([&](int id) {
    const auto worker = std::ranges::find(workers_, id, [](const auto& each) { return each->id; });
    return worker == workers_.end() ? Activity{}
                                    : in_place((*worker)->journal.activity(), term_members_);
  });
  tell_members();
  while (!take_term()) {
  }
  return outcome();
}

// Every term has a cluster of its own: no message passes from one to the next, and a run that
// comes back is where the run was that went on. Returns whether the run is over.
bool Simulation::take_term() {
  begin_term();
  if (!run_cluster()) {
    go_on_without_lost();
    return false;
  }
  const std::int64_t used = samples_used();
  // A method that takes no steps has done what it came for.
  const bool is_over = !has_terms() || logic_.is_over_after(used) || used == term().begin;
  if (has_terms()) {
    keep_state(used, is_over);
    if (is_over && !end_run()) {
      go_on_without_lost();
      return false;
    }
    if (!is_over && is_change_due()) {
      change_in_order();
    }
  }
  return is_over;
}

void Simulation::begin_term() {
  forget_cluster();
  monitor_.on_term(term_log_.next(term().number, position_.seconds, history()));
  cluster_ = std::make_unique<SimCluster>(job_.cluster, servers_of(job_),
                                          seed_of(job_.seed, term()), position_.seconds);
  cluster_->poll([&] { return monitor_.abandon_requested(); });
  meeting_.reset();
  if (job_.cluster.workers > RingMeeting::kMostByMessage) {
    meeting_ = std::make_unique<RingMeeting>(job_.cluster.workers, ground());
  }
  most_asked_ = 0;
  stops_at_.reset();
  plan_member_events();
  start_all();
}

// Adds up what it counted.
void Simulation::forget_cluster() {
  for (auto& worker : workers_) {
    worker->training.reset();  // it refers to the cluster
  }
  if (cluster_) {
    position_.bytes_sent = all_bytes_sent();
    position_.events = events();
    cluster_.reset();
  }
}

std::vector<std::int64_t> Simulation::all_bytes_sent() const {
  std::vector<std::int64_t> all;
  for (std::size_t rank = 0; rank < position_.bytes_sent.size(); ++rank) {
    all.push_back(bytes_sent(static_cast<Rank>(rank)));
  }
  return all;
}

std::int64_t Simulation::events() const {
  return position_.events + (cluster_ ? static_cast<std::int64_t>(cluster_->events()) : 0);
}

void Simulation::start_all() {
  Dealings* const dealings = has_member_events_ ? &dealings_ : nullptr;
  if (dealings) {
    dealings_ = dealings_of(job_, training_samples_, term(), position_.own_updates);
  }
  cluster_->start(kCoordinator, [this, dealings](Node& node) {
    service_ = serve(
        node, job_, training_samples_, [this] { return wants_end(); }, &service_journal_,
        machines_of(machine_names(job_)), term(), &service_kept_, dealings);
  });
  for (auto& worker : workers_) {
    worker->asked = 0;
    cluster_->start(worker->rank, [w = worker.get()](Node& node) { w->train_on(node); });
  }
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    cluster_->start(rank_of_server(i), [this, server = servers_[i].get()](Node& node) {
      server->figures = run_server(node, job_, &server->journal, &server->kept);
    });
  }
}

// Returns false if the term was cut off, because a member was lost.
bool Simulation::run_cluster() {
  try {
    cluster_->run();
    return true;
  } catch (const Interrupted& interrupted) {
    if (monitor_.abandon_requested()) {
      throw RunFailed(kAbandoned);
    }
    if (outlook_.loss && cluster_->now() >= *outlook_.loss) {
      return false;
    }
    throw RunFailed(interrupted.what());
  } catch (const Deadlock& deadlock) {
    throw RunFailed(deadlock_reason(job_, deadlock.what()));
  }
}

std::int64_t Simulation::samples_used() const {
  std::int64_t used = term().begin;
  for (const auto& worker : workers_) {
    used = std::max(used, worker->cluster_samples);
  }
  return used;
}

// The term is over for all. What the next one begins with is also what a checkpoint holds.
void Simulation::keep_state(std::int64_t used, bool is_over) {
  const bool saves = checkpoints() && (is_over || used >= term().end);
  for (auto& worker : workers_) {
    worker->kept = state_of(*worker->training);
    tell_news(*worker, worker->training->so_far());  // for the record of a checkpoint
  }
  position_.seconds = cluster_->now();
  begin_anew();
  position_.end_term(job_, training_samples_, used);
  if (saves) {
    monitor_.on_checkpoint(used, whole_state());
  }
}

// What belongs to a term is forgotten when it ends.
void Simulation::begin_anew() {
  logic_.end_term();
  tell_service_news();
  dealings_ = {};
}

State Simulation::whole_state() {
  State state;
  RunPosition position = position_;
  position.bytes_sent = all_bytes_sent();
  position.events = events();
  position.ids = term_members_.workers;
  position.members = history();
  state.put("run", save_position(job_, std::move(position), logic_));
  state.put("service", service_kept_.state());
  state.put(kMembersPart, state_of(member_events_));
  for (auto& worker : workers_) {
    put_state_of_process(state, job_, worker->rank, worker->whole_state());
  }
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    put_state_of_process(state, job_, rank_of_server(i), servers_[i]->kept.state());
  }
  return state;
}

// On the same cluster: the workers that have done their part agree on the final model.
bool Simulation::end_run() {
  for (auto& worker : workers_) {
    cluster_->start(worker->rank, [w = worker.get()](Node&) { w->training->end_run(); });
  }
  return run_cluster();
}

// Workers of a lock-step method ask once per step, and agree on the answer through the sum of
// their gradients. Phantom blocks carry no data, so the simulator gives every worker the same
// answer to its n-th call: a stop takes effect at the first n that no worker has reached yet.
bool Simulation::stop_requested(Worker& worker) {
  if (!job_.phantom()) {
    return wants_end();
  }
  const std::int64_t question = ++worker.asked;
  if (wants_end() && !stops_at_) {
    stops_at_ = std::max(question, most_asked_ + 1);
  }
  most_asked_ = std::max(most_asked_, question);
  return stops_at_ && question >= *stops_at_;
}

RingMeeting::Ground Simulation::ground() {
  return {
      .edge_of = [this](Rank from, Rank to) { return edge(from, to); },
      .deliver = [this](Rank to, Seconds at,
                        Message message) { cluster_->deliver(to, at, std::move(message)); },
      .occupy = [this](Rank from, Rank to,
                       std::size_t bytes) { cluster_->occupy(from, to, bytes); },
      .count_bytes = [this](Rank from, std::size_t bytes) { cluster_->count_bytes(from, bytes); }};
}

RingEdge Simulation::edge(Rank from, Rank to) const {
  const Network& network = cluster_->network();
  RingEdge edge{.links = {}, .latency = network.latency(from, to)};
  for (const auto link : network.path(from, to)) {
    edge.links.push_back({link, network.capacity(link)});
  }
  return edge;
}

void Simulation::tell_news(Worker& worker, const WorkerResult& so_far) {
  news_.figures = figures_of(so_far, bytes_sent(worker.rank));
  worker.journal.take(news_.entries);
  put_in_places(news_.entries, term_members_);
  monitor_.on_news(worker.id, news_);
}

void Simulation::tell_members() { monitor_.on_members(history()); }

void Simulation::tell_service_news() {
  service_journal_.take(service_news_.entries);
  monitor_.on_news(kCoordinator, service_news_);
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    servers_[i]->journal.take(server_news_.entries);
    monitor_.on_news(record_place({ProcessKind::kServer, servers_[i]->id}), server_news_);
  }
}

void Simulation::on_step(Rank rank, Seconds seconds, const Progress& progress) {
  LossMeter loss;
  loss.add(progress.loss_sum, progress.loss_samples);
  const auto report = logic_.on_progress(seconds, progress.samples, loss);
  if (rank == 0) {
    tell_service_news();
  }
  if (report) {
    monitor_.on_progress(*report);
    if (const auto reason = monitor_.stop_requested()) {
      logic_.stop(*reason);
    }
  }
}

// Evaluation takes no virtual time.
void Simulation::evaluate(const SnapshotInfo& whole) {
  if (const auto evaluation = task_.evaluate(whole.snapshot)) {
    monitor_.on_metric(logic_.on_evaluation(whole.note, *evaluation));
  }
}

std::int64_t Simulation::bytes_sent(Rank rank) const {
  return position_.bytes_sent[static_cast<std::size_t>(rank)] +
         (cluster_ ? static_cast<std::int64_t>(cluster_->bytes_sent(rank)) : 0);
}

std::vector<DoneInfo> Simulation::results() {
  std::vector<DoneInfo> all;
  for (const auto& worker : workers_) {
    WorkerResult result = worker->training->result();
    tell_news(*worker, result);  // for what came after its last step
    all.push_back({.result = std::move(result),
                   .cluster_samples = worker->cluster_samples,
                   .bytes_sent = bytes_sent(worker->rank)});
  }
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    DoneInfo& done = all.emplace_back();
    done.bytes_sent = bytes_sent(rank_of_server(i));
    done.figures = std::move(servers_[i]->figures);
  }
  return all;
}

RunOutcome Simulation::outcome() {
  RunEnd end = logic_.finish(results(), service_, snapshot_of(*workers_.front()->replica));
  tell_service_news();
  const Seconds longer = std::max(0.0, went_on_ - end.outcome.seconds);  // its end was cut off
  end.outcome.seconds += longer;
  for (WorkerSummary& worker : end.outcome.workers) {
    worker.wait_seconds += longer;
    worker.rank = term_members_.workers[static_cast<std::size_t>(worker.rank)];
  }
  end.outcome.terms = static_cast<int>(term().number) + (has_terms() ? 0 : 1);
  end.outcome.members = history();
  end.outcome.losses = position_.losses;
  end.outcome.ideal_samples_per_second =
      ideal_rate(end.outcome.members, run_job_.cluster, end.outcome.seconds);
  end.outcome.simulated_events = events();
  if (end.evaluate) {
    evaluate(*end.evaluate);
  }
  return std::move(end.outcome);
}

}  // namespace motley
