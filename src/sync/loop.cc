#include "sync/loop.h"

#include <algorithm>
#include <functional>

#include "cluster/cost.h"
#include "sync/registry.h"
#include "sync/witness.h"

namespace motley {
namespace {

// Writes what the loop knows of a step as spans that follow each other without a gap. Between two
// computations a worker waits for others first and moves bytes then: whoever is late, nothing can
// be averaged before it has come.
class SpanWriter {
 public:
  explicit SpanWriter(Journal& journal) : journal_(journal) {}

  // Everything since the last call was exchange; of the run so far, `waited` was waiting.
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
  Seconds written_ = 0;  // everything before this moment is
  Seconds waited_ = 0;   // of it
  std::int64_t step_ = 0;
};

}  // namespace

WorkerResult train(Node& bare_node, const Part& part) {
  Journal unread(0);
  Journal& journal = part.journal ? *part.journal : unread;
  Witness witness(bare_node, journal);
  Node& node = part.journal ? static_cast<Node&>(witness) : bare_node;
  SpanWriter spans(journal);

  const Job& job = part.job;
  const StrategyEntry& method = *find_strategy(job.strategy.sync);
  Ledger ledger(ledger_options(job, part.training_samples));
  Allocator allocator(node, job, ledger.options(), method.advance, journal);
  CostModel cost(job.cluster, node.rank(), job.seed);
  const auto strategy = method.make(
      {node, part.replica, ledger, allocator, job, journal, part.stop_requested, part.meeting});
  const auto waited = [&] { return strategy->waited() + allocator.waited(); };

  WorkerResult result;
  WorkerTimes& times = result.times;
  while (const auto work = strategy->begin()) {
    const Seconds compute_began = node.now();
    spans.exchanged(compute_began, waited());
    journal.turn_to({Doing::kCompute});
    double loss_sum = 0;
    const auto compute = [&] { loss_sum = part.replica.compute(work->samples); };
    node.busy(cost.next_step(compute_began, work->count), std::ref(compute));
    const Seconds computed = node.now() - compute_began;
    journal.turn_to({Doing::kCommunicate});
    spans.computed(compute_began + computed, work->count);

    Progress progress = strategy->finish({loss_sum, work->count});
    if (method.advance == Advance::kTogether && node.rank() != 0) {
      progress.loss_sum = 0;  // each knows of all: it is told once
      progress.loss_samples = 0;
    }
    allocator.after_step(work->count, computed, progress.samples);
    witness.write_down();
    result.samples += static_cast<std::int64_t>(work->count);
    result.steps += 1;
    result.step_samples = work->count;
    times.compute += computed;
    times.seconds = node.now();
    times.wait = waited();
    times.communicate = std::max(0.0, times.seconds - times.compute - times.wait);
    const auto report = [&] {
      part.observer.on_step(times.seconds, progress, result);
      if (progress.evaluate) {
        part.observer.on_snapshot(times.seconds, progress, part.replica);
      }
    };
    node.busy(0, std::ref(report));
  }
  spans.exchanged(times.seconds, times.wait);
  journal.turn_to({Doing::kWait});
  result.allocation = allocator.result();
  return result;
}

void hold(Node& node, const Job& job) { find_strategy(job.strategy.sync)->hold(node, job); }

ServiceResult serve(Node& node, const Job& job, std::int64_t training_samples,
                    std::function<bool()> stop_requested, Journal* journal) {
  const Serve serve = find_strategy(job.strategy.sync)->serve;
  const LedgerOptions ledger = ledger_options(job, training_samples);
  Journal unread(0);
  return serve ? serve({node, job, ledger, journal ? *journal : unread, std::move(stop_requested)})
               : ServiceResult{};
}

}  // namespace motley
