#include "record/run_record.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace motley {
namespace {

constexpr std::size_t kMostSpans = std::size_t{1} << 18;  // over all workers
constexpr std::size_t kMostDecisions = 2'000;
constexpr std::size_t kMostTerms = 2'000;
constexpr std::size_t kMostEvaluations = 10'000;
constexpr std::size_t kRecently = 8;  // an eighth of the run
constexpr double kEnoughSteps = 3;

std::size_t bins_for(std::size_t workers) {
  const std::size_t among = std::max<std::size_t>(workers, 1);
  return std::clamp(std::bit_floor((std::size_t{1} << 16) / among), std::size_t{32},
                    std::size_t{256});
}

std::size_t spans_for(std::size_t workers) {
  const std::size_t among = std::max<std::size_t>(workers, 1);
  return std::clamp(kMostSpans / among, std::size_t{64}, std::size_t{1} << 14);
}

WorkerFigures sum_of(WorkerFigures sum, const WorkerFigures& more) {
  sum.compute += more.compute;
  sum.communicate += more.communicate;
  sum.wait += more.wait;
  sum.samples += more.samples;
  sum.steps += more.steps;
  sum.share = more.share > 0 ? more.share : sum.share;
  sum.bytes_sent += more.bytes_sent;
  return sum;
}

WorkerFigures figures_of(const WorkerSummary& result) {
  return {.compute = result.compute_seconds,
          .communicate = result.communicate_seconds,
          .wait = result.wait_seconds,
          .samples = result.samples,
          .steps = result.steps,
          .share = result.share,
          .bytes_sent = result.bytes_sent};
}

}  // namespace

RunRecord::RunRecord(RunFacts facts)
    : facts_(std::move(facts)),
      room_(static_cast<std::size_t>(facts_.workers)),
      timeline_(room_ * kRows, bins_for(room_)),
      terms_(kMostTerms),
      evaluations_(kMostEvaluations),
      decisions_(kMostDecisions) {
  for (int id = 0; id < facts_.workers; ++id) {
    make_worker(id);
  }
}

RunRecord::Worker& RunRecord::make_worker(int id) {
  const auto place = std::ranges::lower_bound(workers_, id, {}, &Worker::id);
  if (place != workers_.end() && place->id == id) {
    return *place;
  }
  const auto before = place - workers_.begin();
  make_room_for(workers_.size() + 1);
  return *workers_.insert(workers_.begin() + before, Worker(id, workers_.size(), spans_for(room_)));
}

// More workers share the same memory.
void RunRecord::make_room_for(std::size_t workers) {
  if (workers <= room_) {
    return;
  }
  room_ = std::max(workers, 2 * room_);
  timeline_.reshape(room_ * kRows, bins_for(room_));
  for (Worker& worker : workers_) {
    worker.spans.shrink(spans_for(room_));
    worker.exchanges.shrink(spans_for(room_) / 4);
  }
}

bool RunRecord::has_worker(int id) const {
  return std::ranges::binary_search(workers_, id, {}, &Worker::id);
}

const RunRecord::Worker& RunRecord::worker(int id) const {
  MOTLEY_CHECK(has_worker(id), "there is no worker {}", id);
  return *std::ranges::lower_bound(workers_, id, {}, &Worker::id);
}

bool RunRecord::is_there(int id) const { return members_.empty() || there_.contains(id); }

int RunRecord::workers_there() const {
  return static_cast<int>(members_.empty() ? workers_.size() : there_.size());
}

void RunRecord::set_members(std::vector<MemberRecord> members) {
  members_ = std::move(members);
  note_presence();
  begin_stays();
}

void RunRecord::note_presence() {
  there_.clear();
  for (const auto& [process, joined, left, why] : members_) {
    if (process.kind == ProcessKind::kWorker) {
      make_worker(process.id);
      if (!left) {
        there_[process.id] = joined;
      }
    }
  }
}

// A worker that comes counts from 0 again, and the time before as waiting.
void RunRecord::begin_stays() {
  for (const auto& [id, joined] : there_) {
    Worker& worker = make_worker(id);
    if (joined > worker.joined) {
      worker.joined = joined;
      worker.earlier = worker.latest;
      worker.earlier.wait -= joined;
    }
  }
}

void RunRecord::add(TermRecord term) { terms_.add(std::move(term)); }

void RunRecord::add(RecordPlace place, const WorkerNews& news) {
  const JournalEntries& entries = news.entries;
  for (const DecisionRecord& decision : entries.decisions) {
    decisions_.add({place, decision});
  }
  if (entries.behind) {
    behind_ = entries.behind;
  }
  if (place == kCoordinator) {
    std::ranges::for_each(entries.spans, [&](const Span& span) { evaluations_.add(span); });
    return;
  }
  if (!has_worker(place)) {
    return;  // of a server there is no more
  }
  Worker& worker = make_worker(place);
  worker.latest = sum_of(worker.earlier, news.figures);
  for (Span span : entries.spans) {
    if (span.end > worker.joined || worker.joined == 0) {
      span.begin = std::max(span.begin, worker.joined);
      add_span(worker, span);
    }
  }
  for (const Exchange& exchange : entries.exchanges) {
    worker.exchanges.add(exchange);
    add_transit(place, exchange);
  }
}

void RunRecord::add_span(Worker& worker, const Span& span) {
  worker.spans.add(span);
  worker.written = std::max(worker.written, span.end);
  const Seconds length = span.end - span.begin;
  switch (span.doing) {
    case Doing::kCompute:
      count_step(worker, span);
      if (worker.last_step) {
        count_share(worker, *worker.last_step);
      }
      worker.last_step = span;
      break;
    case Doing::kCommunicate:
      timeline_.add(row_of(worker, kCommunicate), span.begin, span.end, length);
      break;
    case Doing::kWait:
      timeline_.add(row_of(worker, kWait), span.begin, span.end, length);
      break;
    case Doing::kEvaluate:
      break;  // not a worker
  }
}

void RunRecord::count_step(const Worker& worker, const Span& span, double times) {
  const auto add = [&](Row row, double amount) {
    timeline_.add(row_of(worker, row), span.begin, span.end, times * amount);
  };
  add(kCompute, span.end - span.begin);
  add(kSamples, static_cast<double>(span.samples));
  timeline_.add(row_of(worker, kSteps), span.begin, times);
}

void RunRecord::add_transit(RecordPlace to, const Exchange& exchange, double times) {
  for (const RecordPlace place : {exchange.from, to}) {
    if (exchange.waited > 0 && has_worker(place)) {
      const Worker& worker = this->worker(place);
      timeline_.add(row_of(worker, kTransit), exchange.received,
                    times * std::max(0.0, exchange.received - exchange.sent));
      timeline_.add(row_of(worker, kBytes), exchange.received,
                    times * static_cast<double>(exchange.bytes));
    }
  }
}

void RunRecord::count_share(const Worker& worker, const Span& span, double times) {
  timeline_.add(row_of(worker, kShareSteps), span.begin, times);
  timeline_.add(row_of(worker, kShareSamples), span.begin,
                times * static_cast<double>(span.samples));
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
  if (!summary.members.empty()) {
    set_members(summary.members);
  }
  wait_for_the_end();
  for (const WorkerSummary& result : summary.workers) {
    const Worker& worker = make_worker(result.rank);
    if (const auto& last = worker.last_step;
        last && last->samples >= static_cast<std::int64_t>(result.share)) {
      count_share(worker, *last);
    }
  }
  take_totals(summary);
}

// Of all stays of every worker. Each of them counts the time before it as waiting.
void RunRecord::take_totals(const Summary& summary) {
  for (Worker& worker : workers_) {
    worker.latest = {.share = worker.latest.share};  // of somebody who is gone: its last one
  }
  for (const auto* stays : {&summary.former_workers, &summary.workers}) {
    for (const WorkerSummary& result : *stays) {
      Worker& worker = make_worker(result.rank);
      worker.latest = sum_of(worker.latest, figures_of(result));
    }
  }
  for (const MemberRecord& member : members_) {
    if (member.process.kind == ProcessKind::kWorker) {
      make_worker(member.process.id).latest.wait -= member.joined;
    }
  }
}

// The last reports of the workers have different times, so totals come from the spans.
void RunRecord::fail(std::string why) {
  state_ = RunState::kFailed;
  why_ = std::move(why);
  for (const Worker& worker : workers_) {
    seconds_ = std::max(seconds_, worker.written);
  }
  wait_for_the_end();
  for (Worker& worker : workers_) {
    const WorkerPace pace = pace_since(worker, 0);
    worker.latest.compute = pace.compute;
    worker.latest.communicate = pace.communicate;
    worker.latest.wait = pace.wait;
  }
}

// The run lasts until its last worker is done; until then the others wait.
void RunRecord::wait_for_the_end() {
  for (Worker& worker : workers_) {
    if (is_there(worker.id) && worker.written < seconds_) {
      add_span(worker, Span{worker.written, seconds_, worker.latest.steps, 0, Doing::kWait});
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

std::span<const double> RunRecord::row(int worker, Row row) const {
  return timeline_.row(row_of(this->worker(worker), row));
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
  for (const Worker& worker : workers_) {
    if (is_there(worker.id)) {
      paces.push_back(pace_since(worker, bin));
    }
  }
  return paces;
}

WorkerPace RunRecord::pace_since(const Worker& worker, std::size_t bin) const {
  const auto sum = [&](Row which) {
    const auto amounts = timeline_.row(row_of(worker, which)).subspan(bin);
    return std::accumulate(amounts.begin(), amounts.end(), 0.0);
  };
  return {worker.id,         sum(kSteps), sum(kSamples), sum(kCompute),
          sum(kCommunicate), sum(kWait),  sum(kTransit), sum(kBytes)};
}

}  // namespace motley
