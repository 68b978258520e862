// Takes back what a record has of the time after a checkpoint.
#include <algorithm>

#include "record/run_record.h"

namespace motley {

void RunRecord::trim(Seconds seconds, std::int64_t samples) {
  seconds_ = std::min(seconds_, seconds);
  samples_ = std::min(samples_, samples);
  std::erase_if(metrics_, [&](const Metric& metric) {
    return metric.samples > samples || metric.seconds > seconds;
  });
  trim_evaluations((samples + facts_.batch - 1) / facts_.batch);
  decisions_.remove_if([&](const Decided& each) { return each.decision.at > seconds; });
  for (Rank rank = 0; rank < facts_.workers; ++rank) {
    trim_worker(rank, seconds);
  }
  timeline_.trim(seconds);
}

// A model may be evaluated long after it was sent, so the times of evaluations do not tell.
void RunRecord::trim_evaluations(std::int64_t step) {
  auto of_step = std::ranges::count(metrics_, step, &Metric::step);
  evaluations_.remove_if([&](const Span& span) {
    return span.step > step || (span.step == step && of_step-- <= 0);
  });
}

void RunRecord::trim_worker(Rank rank, Seconds seconds) {
  Worker& worker = workers_[static_cast<std::size_t>(rank)];
  worker.exchanges.remove_if([&](const Exchange& exchange) {
    if (exchange.received > seconds) {
      add_transit(rank, exchange, -1);
    }
    return exchange.received > seconds;
  });
  const bool took_steps = worker.last_step && worker.last_step->end > seconds;
  std::optional<Span> last;
  worker.spans.remove_if([&](Span& span) {
    const bool is_gone = take_back(rank, span, seconds);
    if (!is_gone && span.doing == Doing::kCompute) {
      last = span;
    }
    return is_gone;
  });
  if (took_steps) {
    if (last) {
      count_share(rank, *last, -1);
    }
    worker.last_step = last;
  }
  Seconds& written = written_[static_cast<std::size_t>(rank)];
  written = std::min(written, seconds);
}

// Returns whether the span is gone. One that has begun before is shortened.
bool RunRecord::take_back(Rank rank, Span& span, Seconds seconds) {
  if (span.end <= seconds) {
    return false;
  }
  WorkerFigures& latest = workers_[static_cast<std::size_t>(rank)].latest;
  const auto& last = workers_[static_cast<std::size_t>(rank)].last_step;
  if (span.doing == Doing::kCompute) {  // steps do not begin before a checkpoint and end after it
    count_step(rank, span, -1);
    if (last && span.begin != last->begin) {
      count_share(rank, span, -1);
    }
    latest.compute -= span.end - span.begin;
    latest.samples -= span.samples;
    --latest.steps;
    return true;
  }
  const bool is_wait = span.doing == Doing::kWait;
  const Seconds from = std::max(span.begin, seconds);
  timeline_.add(row_of(rank, is_wait ? kWait : kCommunicate), from, span.end, from - span.end);
  (is_wait ? latest.wait : latest.communicate) -= span.end - from;
  span.end = from;
  return span.begin >= seconds;
}

}  // namespace motley
