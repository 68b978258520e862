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
  terms_.remove_if([&](const TermRecord& term) { return term.begin > 0 && term.begin >= seconds; });
  trim_members(seconds);
  for (Worker& worker : workers_) {
    trim_worker(worker, seconds);
  }
  timeline_.trim(seconds);
}

void RunRecord::trim_members(Seconds seconds) {
  std::erase_if(members_, [&](const MemberRecord& member) { return member.joined > seconds; });
  for (MemberRecord& member : members_) {
    if (member.left && *member.left > seconds) {
      member.left.reset();
      member.why.clear();
    }
  }
  note_presence();
}

// A model may be evaluated long after it was sent, so the times of evaluations do not tell.
void RunRecord::trim_evaluations(std::int64_t step) {
  auto of_step = std::ranges::count(metrics_, step, &Metric::step);
  evaluations_.remove_if(
      [&](const Span& span) { return span.step > step || (span.step == step && of_step-- <= 0); });
}

void RunRecord::trim_worker(Worker& worker, Seconds seconds) {
  worker.exchanges.remove_if([&](const Exchange& exchange) {
    if (exchange.received > seconds) {
      add_transit(worker.id, exchange, -1);
    }
    return exchange.received > seconds;
  });
  const bool took_steps = worker.last_step && worker.last_step->end > seconds;
  std::optional<Span> last;
  worker.spans.remove_if([&](Span& span) {
    const bool is_gone = take_back(worker, span, seconds);
    if (!is_gone && span.doing == Doing::kCompute) {
      last = span;
    }
    return is_gone;
  });
  if (took_steps) {
    if (last) {
      count_share(worker, *last, -1);
    }
    worker.last_step = last;
  }
  worker.written = std::min(worker.written, seconds);
}

// Returns whether the span is gone. One that has begun before is shortened.
bool RunRecord::take_back(Worker& worker, Span& span, Seconds seconds) {
  if (span.end <= seconds) {
    return false;
  }
  WorkerFigures& latest = worker.latest;
  const auto& last = worker.last_step;
  if (span.doing == Doing::kCompute) {  // steps do not begin before a checkpoint and end after it
    count_step(worker, span, -1);
    if (last && span.begin != last->begin) {
      count_share(worker, span, -1);
    }
    latest.compute -= span.end - span.begin;
    latest.samples -= span.samples;
    --latest.steps;
    return true;
  }
  const bool is_wait = span.doing == Doing::kWait;
  const Seconds from = std::max(span.begin, seconds);
  timeline_.add(row_of(worker, is_wait ? kWait : kCommunicate), from, span.end, from - span.end);
  (is_wait ? latest.wait : latest.communicate) -= span.end - from;
  span.end = from;
  return span.begin >= seconds;
}

}  // namespace motley
