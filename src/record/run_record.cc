#include "record/run_record.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace motley {
namespace {

constexpr std::size_t kMostSpans = std::size_t{1} << 18;  // over all workers
constexpr std::size_t kMostDecisions = 2'000;
constexpr std::size_t kMostEvaluations = 10'000;
constexpr std::size_t kRecently = 8;  // an eighth of the run
constexpr double kEnoughSteps = 3;

std::size_t bins_for(int workers) {
  const auto among = static_cast<std::size_t>(std::max(workers, 1));
  return std::clamp(std::bit_floor((std::size_t{1} << 16) / among), std::size_t{32},
                    std::size_t{256});
}

std::size_t spans_for(int workers) {
  const auto among = static_cast<std::size_t>(std::max(workers, 1));
  return std::clamp(kMostSpans / among, std::size_t{64}, std::size_t{1} << 14);
}

}  // namespace

RunRecord::RunRecord(RunFacts facts)
    : facts_(std::move(facts)),
      workers_(static_cast<std::size_t>(facts_.workers), Worker(spans_for(facts_.workers))),
      written_(workers_.size(), 0),
      timeline_(workers_.size() * kRows, bins_for(facts_.workers)),
      evaluations_(kMostEvaluations),
      decisions_(kMostDecisions) {}

void RunRecord::add(Rank rank, const WorkerNews& news) {
  const JournalEntries& entries = news.entries;
  for (const DecisionRecord& decision : entries.decisions) {
    decisions_.add({rank, decision});
  }
  if (entries.behind) {
    behind_ = entries.behind;
  }
  if (rank == kCoordinator) {
    std::ranges::for_each(entries.spans, [&](const Span& span) { evaluations_.add(span); });
    return;
  }
  if (rank >= facts_.workers) {
    return;  // of a server there is no more
  }
  Worker& worker = workers_[static_cast<std::size_t>(rank)];
  worker.latest = news.figures;
  std::ranges::for_each(entries.spans, [&](const Span& span) { add_span(rank, span); });
  for (const Exchange& exchange : entries.exchanges) {
    worker.exchanges.add(exchange);
    add_transit(rank, exchange);
  }
}

void RunRecord::add_span(Rank rank, const Span& span) {
  const auto index = static_cast<std::size_t>(rank);
  workers_[index].spans.add(span);
  written_[index] = std::max(written_[index], span.end);
  const Seconds length = span.end - span.begin;
  switch (span.doing) {
    case Doing::kCompute:
      count_step(rank, span);
      if (auto& last = workers_[index].last_step; last) {
        count_share(rank, *last);
      }
      workers_[index].last_step = span;
      break;
    case Doing::kCommunicate:
      timeline_.add(row_of(rank, kCommunicate), span.begin, span.end, length);
      break;
    case Doing::kWait:
      timeline_.add(row_of(rank, kWait), span.begin, span.end, length);
      break;
    case Doing::kEvaluate:
      break;  // not a worker
  }
}

void RunRecord::count_step(Rank rank, const Span& span, double times) {
  const auto add = [&](Row row, double amount) {
    timeline_.add(row_of(rank, row), span.begin, span.end, times * amount);
  };
  add(kCompute, span.end - span.begin);
  add(kSamples, static_cast<double>(span.samples));
  timeline_.add(row_of(rank, kSteps), span.begin, times);
}

void RunRecord::add_transit(Rank to, const Exchange& exchange, double times) {
  for (const Rank rank : {exchange.from, to}) {
    if (exchange.waited > 0 && rank >= 0 && rank < facts_.workers) {
      timeline_.add(row_of(rank, kTransit), exchange.received,
                    times * std::max(0.0, exchange.received - exchange.sent));
      timeline_.add(row_of(rank, kBytes), exchange.received,
                    times * static_cast<double>(exchange.bytes));
    }
  }
}

void RunRecord::count_share(Rank rank, const Span& span, double times) {
  timeline_.add(row_of(rank, kShareSteps), span.begin, times);
  timeline_.add(row_of(rank, kShareSamples), span.begin, times * static_cast<double>(span.samples));
}

void RunRecord::add(const Metric& metric) { metrics_.push_back(metric); }

void RunRecord::progress(Seconds seconds, std::int64_t samples, std::optional<double> loss) {
  seconds_ = std::max(seconds_, seconds);
  samples_ = std::max(samples_, samples);
  train_loss_ = loss ? loss : train_loss_;
}

void RunRecord::finish(const Summary& summary) {
  state_ = summary.stopped ? RunState::kStopped : RunState::kComplete;
  why_ = summary.stopped.value_or("");
  seconds_ = summary.seconds;
  samples_ = summary.samples;
  metrics_ = summary.metrics;
  method_ = summary.method;
  wait_for_the_end();
  for (const WorkerSummary& result : summary.workers) {
    const auto index = static_cast<std::size_t>(result.rank);
    if (index >= workers_.size()) {
      continue;  // somebody who joined has no place in the record
    }
    if (const auto& last = workers_[index].last_step;
        last && last->samples >= static_cast<std::int64_t>(result.share)) {
      count_share(result.rank, *last);
    }
    workers_[index].latest = {.compute = result.compute_seconds,
                              .communicate = result.communicate_seconds,
                              .wait = result.wait_seconds,
                              .samples = result.samples,
                              .steps = result.steps,
                              .share = result.share,
                              .bytes_sent = result.bytes_sent};
  }
}

// The last reports of the workers have different times, so totals come from the spans.
void RunRecord::fail(std::string why) {
  state_ = RunState::kFailed;
  why_ = std::move(why);
  for (const Seconds written : written_) {
    seconds_ = std::max(seconds_, written);
  }
  wait_for_the_end();
  for (const WorkerPace& pace : paces()) {
    WorkerFigures& latest = workers_[static_cast<std::size_t>(pace.rank)].latest;
    latest.compute = pace.compute;
    latest.communicate = pace.communicate;
    latest.wait = pace.wait;
  }
}

// The run lasts until its last worker is done; until then the others wait.
void RunRecord::wait_for_the_end() {
  for (Rank rank = 0; rank < facts_.workers; ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    if (const Seconds ended = written_[index]; ended < seconds_) {
      add_span(rank, Span{ended, seconds_, workers_[index].latest.steps, 0, Doing::kWait});
    }
  }
}

double RunRecord::samples_per_second() const {
  return seconds_ > 0 ? static_cast<double>(samples_) / seconds_ : 0;
}

std::int64_t RunRecord::bytes_sent() const {
  std::int64_t sum = 0;
  for (const Worker& worker : workers_) {
    sum += worker.latest.bytes_sent;
  }
  return sum;
}

std::span<const double> RunRecord::row(Rank worker, Row row) const {
  return timeline_.row(row_of(worker, row));
}

std::vector<WorkerPace> RunRecord::recent() const {
  for (std::size_t part = kRecently; part > 1; part /= 2) {
    auto paces = paces_since(bins() - bins() / part);
    const auto least = std::ranges::min_element(paces, {}, &WorkerPace::steps);
    if (least != paces.end() && least->steps >= kEnoughSteps) {
      return paces;
    }
  }
  return paces();
}

std::vector<WorkerPace> RunRecord::paces() const { return paces_since(0); }

std::vector<WorkerPace> RunRecord::paces_since(std::size_t bin) const {
  std::vector<WorkerPace> paces;
  for (Rank rank = 0; rank < facts_.workers; ++rank) {
    const auto sum = [&](Row which) {
      const auto amounts = row(rank, which).subspan(bin);
      return std::accumulate(amounts.begin(), amounts.end(), 0.0);
    };
    paces.push_back({rank, sum(kSteps), sum(kSamples), sum(kCompute), sum(kCommunicate), sum(kWait),
                     sum(kTransit), sum(kBytes)});
  }
  return paces;
}

}  // namespace motley
