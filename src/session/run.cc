#include "motley/run.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "job/parse.h"
#include "job/print.h"
#include "runtime/rendezvous/addresses.h"
#include "session/run_impl.h"
#include "session/signals.h"
#include "sync/check_dealing.h"
#include "sync/registry.h"

namespace motley {
namespace {

Job job_of(const Options& options) {
  Job job;
  job.name = options.name;
  job.seed = options.seed;
  job.train.batch = options.batch;
  job.train.epochs = options.epochs;
  job.train.steps = options.steps;
  job.train.target_accuracy = options.target_accuracy;
  job.train.eval_every = options.eval_every;
  job.train.eval_every_epochs = options.eval_every_epochs;
  job.train.checkpoint_every = options.checkpoint_every.value_or(-1);
  job.train.checkpoint_keep = options.checkpoint_keep;
  job.train.micro_batch = options.micro_batch;
  job.train.loader = options.loader;
  job.train.order = options.order;
  job.train.drop_last = options.drop_last;
  job.train.sticky = options.sticky;
  job.train.min_share = options.min_share.value_or(1);
  job.strategy = options.strategy;
  job.cluster = options.cluster;
  return job;
}

Job resolve(const Session::Impl& session, const Options& options) {
  std::string text;
  if (!session.job_path.empty()) {
    auto read = read_job_file(session.job_path);
    text = read ? std::move(*read) : throw Refused(read.error().message);
  }
  auto job = parse_program(job_schema(), job_of(options), session.world.size, text,
                           session.job_path, session.overrides);
  return job ? std::move(*job) : throw Refused(job.error().message);
}

// A target that is never compared with anything would be ignored in silence.
EvaluateFunction with_target(const Job& job, EvaluateFunction evaluate) {
  if (!evaluate || !job.train.target_accuracy) {
    return evaluate;
  }
  return [evaluate = std::move(evaluate)](const Snapshot& snapshot) {
    Evaluation evaluation = evaluate(snapshot);
    if (std::isnan(evaluation.accuracy)) {
      throw Refused(
          "train.target_accuracy is set, but the program's evaluation returns no accuracy: return "
          "one, or do without the target");
    }
    return evaluation;
  };
}

// Keeps a flag true for its own lifetime.
class Raised {
 public:
  explicit Raised(bool& flag) : flag_(flag) { flag_ = true; }
  ~Raised() { flag_ = false; }
  Raised(const Raised&) = delete;
  Raised& operator=(const Raised&) = delete;

 private:
  bool& flag_;
};

void expect(const Status& status) {
  if (!status) {
    throw RunFailed(status.error().message);
  }
}

Result<Admission> join_as(Rank rank, const Endpoint& rendezvous, Peer me, Seconds patience) {
  me.rank = rank;
  return join_rendezvous(rendezvous, me, patience, signal_before_start);
}

}  // namespace

Run::Impl::Turn::Turn(Session::Impl& session) : session_(session) {
  if (session_.stopped && is_signal(*session_.stopped)) {
    throw RunFailed("cannot start another run: the last one was stopped by " + *session_.stopped);
  }
  if (session_.stopped == kLeftRun) {
    throw RunFailed("cannot start another run: this rank has left the last one");
  }
  if (session_.has_run) {
    throw std::logic_error("a session has one run at a time: the last one is not over");
  }
  session_.has_run = true;
  ++session_.runs;
}

Run::Impl::Impl(Session::Impl& session, const Options& options, Replica& replica,
                std::int64_t samples, RunHooks hooks)
    : session_(session),
      turn_(std::in_place, session),
      job_(resolve(session, options)),
      steps_together_(method_of(job_).advance == Advance::kTogether),
      on_evaluation_(std::move(hooks.on_evaluation)) {
  if (samples <= 0) {
    throw Refused("the data set is empty: expected at least one training sample");
  }
  if (const Status fits = check_dealing(job_, samples); !fits) {
    throw Refused(fits.error().message);
  }
  forget_cause();
  const Peer me = peer_of(replica, hooks.settings);
  if (session_.world.rank == 0) {
    open_rendezvous(me, samples, with_target(job_, std::move(hooks.evaluate)),
                    session_.resume ? session_.resume : options.resume);
  }
  join_run(me);
  guarded([&] {
    const auto text = worker_->join(signal_before_start);
    expect(text ? worker_->start(job_, replica, samples, Beginning::kOfRankZero)
                : tl::unexpected(text.error()));
  });
  terminate_notice_.emplace([this](const std::string& why) {
    if (under_way()) {
      clean_up(worker_->fail({kAnyRank, why}));
    }
  });
}

Run::Impl::Impl(Session::Impl& session, Worker& worker, const Job& job, Replica& replica,
                std::int64_t samples)
    : session_(session),
      turn_(std::in_place, session),
      job_(job),
      steps_together_(method_of(job_).advance == Advance::kTogether),
      worker_(&worker) {
  guarded([&] { expect(worker_->start(job_, replica, samples, Beginning::kAlreadyEqual)); });
}

Run::Impl::~Impl() {
  if (!under_way()) {
    return;
  }
  try {
    leave_early();
  } catch (...) {  // The others notice that the connection breaks.
    std::fputs("motley: cannot report why this run ends early\n", stderr);
  }
}

Peer Run::Impl::peer_of(Replica& replica, const std::string& settings) const {
  Peer me = peer_of_this_process();
  me.rank = session_.world.rank;
  me.token = session_.world.token;
  me.job = to_toml(job_schema(), job_);
  // A rank that is started again begins with its first run, whichever one the others are at.
  me.parameters =
      settings + describe(replica.tensors()) + fmt::format("run number {}\n", session_.runs);
  return me;
}

// Only rank 0 reads the checkpoint: the others get their part of it from the coordinator.
std::shared_ptr<const ResumePoint> Run::Impl::resume_point(const std::string& where) const {
  auto point = find_resume_point(where, {.mode = "train", .name = job_.name});
  const Status status = point ? check_job(*point, job_) : tl::unexpected(point.error());
  if (!status) {
    throw Refused(fmt::format("--motley-resume: {}", status.error().message));
  }
  return std::make_shared<const ResumePoint>(std::move(*point));
}

void Run::Impl::open_rendezvous(const Peer& me, std::int64_t samples, EvaluateFunction evaluate,
                                const std::optional<std::string>& resume) {
  Gathering gathering;
  gathering.job_text = me.job;
  gathering.host = me;
  gathering.patience = session_.patience;
  const Endpoint& master = session_.world.master;
  gathering.address = address_to_listen_on(master.host);
  gathering.port = master.port;
  RunView view{.keep = session_.out || resume,
               .out = session_.out,
               .trace = session_.trace,
               .quiet = !session_.progress};
  const auto from = resume ? resume_point(*resume) : nullptr;
  view.from = from;
  gathering.resume = state_in(from);
  try {
    host_ = std::make_unique<Host>(job_, samples, std::move(evaluate), std::move(view),
                                   std::move(gathering));
  } catch (const StateError& error) {
    throw Refused(fmt::format("--motley-resume: {}", error.what()));
  }
  if (from) {
    say_where(*from, !session_.progress);
  }
}

// Starts this process's worker, and its servers if any.
void Run::Impl::join_run(const Peer& me) {
  const World& world = session_.world;
  const auto let_in = [this, me, rendezvous = world.master,
                       patience = session_.patience](Rank rank) {
    return host_ ? host_->admission(rank) : join_as(rank, rendezvous, me, patience);
  };
  servers_ = std::make_unique<ServerThreads>(job_, world.rank, let_in);
  const auto admission = let_in(world.rank);
  owned_ =
      std::make_unique<Worker>(admission ? *admission : throw RunFailed(admission.error().message));
  worker_ = owned_.get();
}

std::optional<Work> Run::Impl::begin() {
  if (over_) {
    return std::nullopt;
  }
  expect_turn(!has_work_, "begin() called before finish() of the last step");
  obey_signals();
  return guarded([&] {
    if (host_) {
      host_->evaluate_waiting();
    }
    announce_evaluation();
    const auto work = worker_->begin();
    has_work_ = work.has_value();
    work ? take_part() : end();
    return work;
  });
}

Progress Run::Impl::finish(StepResult result) {
  expect_turn(has_work_, "finish() called without a begin() that returned work");
  result.has_heard = worker_->has_evaluation();
  guarded([&] { applied_ = worker_->finish(result); });
  has_work_ = false;
  all_have_heard_ = applied_ && worker_->progress().all_have_heard;
  return worker_->progress();
}

// At their own pace, ranks need not agree on the moment.
void Run::Impl::announce_evaluation() {
  if (!steps_together_ || std::exchange(all_have_heard_, false)) {
    const auto next = worker_->next_evaluation();
    if (next && on_evaluation_) {
      on_evaluation_(next->samples, next->evaluation);
    }
  }
}

std::vector<double> Run::Impl::counts() const {
  return steps_together_ ? std::vector<double>() : worker_->counts();
}

void Run::Impl::fit(const std::function<double(const Work&)>& compute) {
  while (const auto work = begin()) {
    double loss_sum = 0;
    in_step([&] { loss_sum = compute(*work); });
    finish({.loss_sum = loss_sum});
  }
}

void Run::Impl::in_step(const std::function<void()>& body) {
  try {
    body();
  } catch (...) {
    fail_here(std::current_exception());
    throw;
  }
}

void Run::Impl::stop(const std::string& why) {
  if (under_way() && !asked_) {
    asked_ = true;
    worker_->ask_to_stop(why);
  }
}

const RunResult& Run::Impl::result() const {
  return over_ ? result_ : throw std::logic_error("result() called before the run is over");
}

// A call out of turn is a bug of the program; it fails the run like an exception of the program.
void Run::Impl::expect_turn(bool is_its_turn, const char* otherwise) {
  if (why_failed_) {
    throw RunFailed(*why_failed_);
  }
  in_step([&] {
    if (in_call_ || !is_its_turn) {
      throw std::logic_error(in_call_ ? "begin() or finish() called inside a hook" : otherwise);
    }
  });
}

template <class Body>
auto Run::Impl::guarded(const Body& body) -> decltype(body()) {
  try {
    const Raised raised(in_call_);
    return body();
  } catch (const Interrupted&) {
    fail_with_others(std::current_exception());
  } catch (const RunFailed&) {
    fail_with_others(std::current_exception());
  } catch (...) {
    fail_here(std::current_exception());
    throw;
  }
}

void Run::Impl::fail_with_others(const std::exception_ptr& error) {
  if (under_way()) {
    clean_up(worker_->fail(error));
  }
  throw RunFailed(*why_failed_);
}

void Run::Impl::fail_here(const std::exception_ptr& error) {
  if (under_way()) {
    worker_->release_memory();
    note_cause(reason_of(error));
    clean_up(worker_->fail(error));
  }
}

void Run::Impl::leave_early() {
  const bool thrown = std::uncaught_exceptions() > 0;
  const std::string why =
      thrown ? "an exception left the training loop" : "the program left the training loop early";
  note_cause(why);
  if (!thrown) {
    complain(why);
  }
  clean_up(worker_->fail({kAnyRank, why}));
}

void Run::Impl::clean_up(const std::string& why) {
  why_failed_ = why;
  end_part(worker_->end().lost ? ElasticNote::Kind::kLost : ElasticNote::Kind::kOver);
  if (host_) {
    host_->give_up();
  }
  if (servers_) {
    servers_->join();
  }
  turn_.reset();
}

// Not needed on rank 0, whose coordinator handles signals itself, nor for a worker that has joined:
// it leaves (session/joined_session.h). SIGTERM says that this machine is about to be taken away:
// the others can go on.
void Run::Impl::obey_signals() {
  const auto signal = host_ || !owned_ ? std::nullopt : first_signal();
  if (signal == "SIGTERM" && job_.cluster.elastic) {
    leave();
  } else if (signal) {
    stop(*signal);
  }
}

// Servers go first: as long as this worker is there, it has what they had.
void Run::Impl::leave() {
  if (!std::exchange(asked_, true)) {
    servers_->drop_out();
    worker_->ask_to_leave();
  }
}

// From now on the run survives the loss of this process, unless it is rank 0.
void Run::Impl::take_part() {
  if (owned_ && job_.cluster.elastic && !std::exchange(takes_part_, true)) {
    tell_launcher({ElasticNote::Kind::kSurvives, respawn()});
  }
}

// What is started again begins with its first run.
int Run::Impl::respawn() const { return session_.runs == 1 ? job_.cluster.respawn : 0; }

void Run::Impl::end_part(ElasticNote::Kind how) {
  if (std::exchange(takes_part_, false)) {
    tell_launcher({how, respawn()});
  }
}

void Run::Impl::end() {
  const bool has_left = !worker_->end().run_is_over;  // or it came too late
  end_part(has_left ? ElasticNote::Kind::kLeft : ElasticNote::Kind::kOver);
  worker_->leave();
  if (servers_) {
    servers_->join();
  }
  result_.seconds = worker_->so_far().times.seconds;
  result_.samples = worker_->progress().samples;
  result_.stopped = has_left ? std::optional<std::string>(kLeftRun) : worker_->stopped();
  if (host_) {
    take(host_->finish());
    host_.reset();  // the next run has a rendezvous of its own
  }
  result_.steps = result_.samples / job_.train.batch;
  over_ = true;
  turn_.reset();
  session_.stopped = result_.stopped;
  terminate_notice_.reset();
}

void Run::Impl::take(const Summary& summary) {
  result_.seconds = summary.seconds;
  result_.samples = summary.samples;
  if (!summary.metrics.empty()) {
    result_.loss = summary.metrics.back().loss;
    const double accuracy = summary.metrics.back().accuracy;
    result_.accuracy = std::isnan(accuracy) ? std::nullopt : std::optional(accuracy);
  }
  result_.stopped = summary.stopped;
  result_.summary = to_json(summary).dump(2);
}

Run::Run(Session& session, const Options& options, Replica& replica, std::int64_t training_samples,
         RunHooks hooks)
    : impl_(std::make_unique<Impl>(session.impl(), options, replica, training_samples,
                                   std::move(hooks))) {}
Run::~Run() = default;
std::optional<Work> Run::begin() { return impl_->begin(); }
Progress Run::finish(const StepResult& result) { return impl_->finish(result); }
Progress Run::finish(double loss_sum) { return impl_->finish({.loss_sum = loss_sum}); }
bool Run::steps_together() const { return impl_->steps_together(); }
std::vector<double> Run::counts() const { return impl_->counts(); }
bool Run::applied() const { return impl_->applied(); }
void Run::fit(const std::function<double(const Work&)>& compute) { impl_->fit(compute); }
void Run::in_step(const std::function<void()>& body) { impl_->in_step(body); }
void Run::stop() { impl_->stop("the program"); }
const Job& Run::job() const { return impl_->job(); }
const RunResult& Run::result() const { return impl_->result(); }

}  // namespace motley
