#include "sync/loop.h"

#include <algorithm>
#include <functional>

#include "base/check.h"
#include "cluster/cost.h"
#include "motley/sync/method.h"
#include "state/state.h"
#include "sync/counted_replica.h"
#include "sync/recording_node.h"
#include "sync/step_exchange.h"

namespace motley {
namespace {

// Writes what the loop knows about a step as spans without gaps. Between two computations a worker
// first waits for others and then moves bytes: nothing can be averaged before the last one has
// arrived.
class SpanWriter {
 public:
  explicit SpanWriter(Journal& journal) : journal_(journal) {}

  // Goes on after these totals of earlier terms.
  void go_on(const WorkerResult& before) {
    written_ = before.times.seconds;
    waited_ = before.times.wait;
    step_ = before.steps;
  }

  // Everything since the last call was exchange; `waited` is the total waiting of the run so far.
  void exchanged(Seconds until, Seconds waited) {
    const Seconds more = std::clamp(waited - waited_, 0.0, std::max(0.0, until - written_));
    waited_ += more;
    write(written_ + more, Doing::kWait, 0);
    write(until, Doing::kCommunicate, 0);
  }

  void computed(Seconds until, std::size_t samples) {
    write(until, Doing::kCompute, static_cast<std::int64_t>(samples));
    ++step_;
  }

 private:
  void write(Seconds until, Doing doing, std::int64_t samples) {
    if (until > written_ || samples > 0) {
      journal_.add(Span{written_, until, step_, samples, doing});
      written_ = until;
    }
  }

  Journal& journal_;
  Seconds written_ = 0;  // everything before this time is written
  Seconds waited_ = 0;   // the waiting before written_
  std::int64_t step_ = 0;
};

}  // namespace

class Training::Impl {
 public:
  Impl(Node& bare_node, const Part& part)
      : part_(part),
        replica_(part.replica),
        journal_(part.journal ? *part.journal : unread_),
        recording_node_(bare_node, journal_),
        spans_(journal_),
        method_(method_of(part.job)),
        ledger_(ledger_options(part.job, part.training_samples, part.term)),
        used_(ledger_.options().begin),
        allocator_(node_, part.job, ledger_.options(), method_.advance, journal_),
        cost_(part.job.cluster, node_.rank(), seed_of(part.job.seed, part.term),
              part.job.train.micro_batch_of(node_.rank())),
        exchange_(replica_, method_.advance, node_.size()) {
    part.replica.set_micro_batch(part.job.train.micro_batch_of(node_.rank()));
    if (part.kept) {
      restore(allocator_, part.kept->part("allocator"));  // its shares are used by make()
    }
    strategy_ =
        method_.make({node_, replica_, ledger_, allocator_, part.job, journal_, part.stop_requested,
                      part.meeting, part.term, seed_of(part.job.seed, part.term)});
    MOTLEY_CHECK(strategy_, "method {} made no worker", method_.name());
    if (part.kept) {
      if (const State method = part.kept->part("method"); !method.empty()) {
        restore(*strategy_, method);
      }
      restore(result_, part.kept->part("result"));
      spans_.go_on(result_);
      // Since this worker's last step, it waited for the end of the term.
      waited_before_ = result_.times.wait + node_.now() - result_.times.seconds;
    }
  }

  std::optional<Work> begin() {
    work_ = strategy_->begin();
    steps_before_ = replica_.steps();
    if (work_) {
      work_->step_samples = step_samples();
      compute_began_ = node_.now();
      spans_.exchanged(compute_began_, waited());
      journal_.turn_to({Doing::kCompute});
    } else {
      spans_.exchanged(result_.times.seconds, result_.times.wait);
      journal_.turn_to({Doing::kWait});
    }
    return work_;
  }

  Seconds cost() { return cost_.next_step(compute_began_, work_->count); }

  void finish(const StepResult& result) {
    const Seconds computed = computed_ = node_.now() - compute_began_;
    is_finishing_ = true;
    journal_.turn_to({Doing::kCommunicate});
    spans_.computed(compute_began_ + computed, work_->count);

    const Computed done = put(result);
    Progress progress = strategy_->finish(done);
    exchange_.take(progress, done);
    used_ = progress.samples;
    if (method_.advance == Advance::kTogether && node_.rank() != 0) {
      progress.loss_sum = 0;  // the others know it too, and it is reported once
      progress.loss_samples = 0;
    }
    allocator_.after_step(work_->count, computed, progress.samples);
    recording_node_.write_down();
    count(computed);
    is_finishing_ = false;
    const auto report = [&] {
      part_.observer.on_step(result_.times.seconds, progress, result_);
      if (progress.evaluate) {
        part_.observer.on_snapshot(result_.times.seconds, progress, part_.replica);
      }
    };
    node_.busy(0, std::ref(report));
  }

  // A method that exchanges nothing here ended with its last step; how long the farewells of its
  // term took does not count. The clock cannot tell: a real one always moves on.
  void end_run() {
    const Seconds began = node_.now();
    const std::int64_t received = recording_node_.received();
    strategy_->end_run();
    if (recording_node_.received() > received) {
      waited_before_ += began - result_.times.seconds;  // since the last step
      count_time();
      recording_node_.write_down();
      spans_.exchanged(result_.times.seconds, result_.times.wait);
    }
  }

  const WorkerResult& so_far() const { return result_; }

  // An iteration counts if its gradient is in the model, also if its end was cut off.
  std::optional<Survivor> settle() {
    const std::optional<Settled> settled = strategy_->settle();
    if (has_applied()) {
      count(computed_);
    }
    is_finishing_ = false;
    return settled ? std::optional(Survivor{*settled, iterations_}) : std::nullopt;
  }

  bool has_applied() const {
    const bool has_nothing = method_.advance == Advance::kAtOwnPace && work_ && work_->count == 0;
    return is_finishing_ && (replica_.steps() > steps_before_ || has_nothing);
  }

  WorkerResult result() {
    WorkerResult result = result_;
    result.allocation = allocator_.result();
    return result;
  }

  void state(Archive& archive) {
    archive("result", result_);
    archive("allocator", allocator_);
    archive("method", *strategy_);
  }

 private:
  // Weights change the gradient.
  Computed put(const StepResult& result) {
    Computed done;
    const auto put = [&] { done = exchange_.put(result, work_->count, strategy_->sums_weights()); };
    result.weight ? node_.busy(0, std::ref(put)) : put();
    return done;
  }

  std::int64_t step_samples() const {
    const LedgerOptions& ledger = ledger_.options();
    return method_.advance == Advance::kTogether ? ledger_.step_after(used_).count
                                                 : std::min(ledger.batch, ledger.dataset);
  }

  Seconds waited() const { return waited_before_ + strategy_->waited() + allocator_.waited(); }

  void count(Seconds computed) {
    ++iterations_;
    result_.samples += static_cast<std::int64_t>(work_->count);
    result_.steps += 1;
    result_.step_samples = work_->count;
    result_.times.compute += computed;
    count_time();
  }

  void count_time() {
    WorkerTimes& times = result_.times;
    times.seconds = node_.now();
    times.wait = waited();
    times.communicate = std::max(0.0, times.seconds - times.compute - times.wait);
  }

  const Part part_;
  CountedReplica replica_;
  Journal unread_{0};
  Journal& journal_;
  RecordingNode recording_node_;
  Node& node_ = recording_node_;
  SpanWriter spans_;
  const Method& method_;
  Ledger ledger_;
  std::int64_t used_;  // samples, by all workers, as far as this one knows
  Allocator allocator_;
  CostModel cost_;
  StepExchange exchange_;
  std::unique_ptr<Strategy> strategy_;

  std::optional<Work> work_;       // of the current step
  std::int64_t iterations_ = 0;    // of this term
  std::int64_t steps_before_ = 0;  // of the replica, before the current iteration
  Seconds computed_ = 0;           // how long computing took in the current iteration
  bool is_finishing_ = false;
  Seconds compute_began_ = 0;
  Seconds waited_before_ = 0;  // outside of strategy and allocator, and in earlier terms
  WorkerResult result_;
};

void WorkerResult::state(Archive& archive) {
  archive("samples", samples);
  archive("steps", steps);
  archive("step_samples", step_samples);
  archive("times", times);
}

Training::Training(Node& node, const Part& part) : impl_(std::make_unique<Impl>(node, part)) {}
Training::~Training() = default;
std::optional<Work> Training::begin() { return impl_->begin(); }
Seconds Training::cost() { return impl_->cost(); }
void Training::finish(const StepResult& result) { impl_->finish(result); }
bool Training::has_applied() const { return impl_->has_applied(); }
void Training::end_run() { impl_->end_run(); }
const WorkerResult& Training::so_far() const { return impl_->so_far(); }
WorkerResult Training::result() { return impl_->result(); }
std::optional<Survivor> Training::settle() { return impl_->settle(); }
void Training::state(Archive& archive) { impl_->state(archive); }

void train_term(Node& node, Training& training, Replica& replica) {
  while (const auto work = training.begin()) {
    double loss_sum = 0;
    const auto compute = [&] { loss_sum = replica.compute(work->samples); };
    node.busy(training.cost(), std::ref(compute));
    training.finish({.loss_sum = loss_sum});
  }
}

WorkerResult train(Node& node, const Part& part) {
  Training training(node, part);
  train_term(node, training, part.replica);
  training.end_run();
  return training.result();
}

Figures run_server(Node& node, const Job& job, Journal* journal, KeptState* kept) {
  Journal unread(0);
  return method_of(job).run_server({node, job, journal ? *journal : unread, kept});
}

Dealings dealings_of(const Job& job, std::int64_t training_samples, const Term& term,
                     const std::vector<OwnUpdates>& own) {
  Dealings dealings;
  if (method_of(job).advance == Advance::kAtOwnPace) {
    const LedgerOptions ledger = ledger_options(job, training_samples, term);
    dealings.begin(first_parts(job, ledger), ledger);
    dealings.carry(own);
  }
  return dealings;
}

ServiceResult serve(Node& node, const Job& job, std::int64_t training_samples,
                    std::function<bool()> stop_requested, Journal* journal,
                    std::vector<int> machines, const Term& term, KeptState* kept,
                    Dealings* dealings) {
  const Serve serve = method_of(job).serve;
  const LedgerOptions ledger = ledger_options(job, training_samples, term);
  Journal unread(0);
  return serve ? serve({node, job, ledger, journal ? *journal : unread, std::move(stop_requested),
                        std::move(machines), kept, dealings})
               : ServiceResult{};
}

}  // namespace motley
