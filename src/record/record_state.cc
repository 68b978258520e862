// The state of a RunRecord. Spans, exchanges and decisions are stored by column: a checkpoint may
// hold a hundred thousand of them.
#include <algorithm>
#include <type_traits>

#include "record/run_record.h"

namespace motley {
namespace {

template <class Entry, class Value>
void column(Archive& archive, std::string_view name, std::vector<Entry>& entries,
            Value Entry::*member) {
  using Stored = std::conditional_t<std::is_enum_v<Value>, std::int64_t, Value>;
  std::vector<Stored> values;
  for (const Entry& entry : entries) {
    values.push_back(static_cast<Stored>(entry.*member));
  }
  archive(name, values);
  if (values.size() != entries.size()) {
    throw StateError(std::string(name) + " has another length than it should");
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    entries[i].*member = static_cast<Value>(values[i]);
  }
}

void columns(Archive& archive, std::vector<Span>& spans) {
  column(archive, "begin", spans, &Span::begin);
  column(archive, "end", spans, &Span::end);
  column(archive, "step", spans, &Span::step);
  column(archive, "samples", spans, &Span::samples);
  column(archive, "doing", spans, &Span::doing);
}

void columns(Archive& archive, std::vector<Exchange>& exchanges) {
  column(archive, "sent", exchanges, &Exchange::sent);
  column(archive, "received", exchanges, &Exchange::received);
  column(archive, "from", exchanges, &Exchange::from);
  column(archive, "bytes", exchanges, &Exchange::bytes);
  column(archive, "waited", exchanges, &Exchange::waited);
}

void columns(Archive& archive, std::vector<RunRecord::Decided>& decisions) {
  std::vector<DecisionRecord> what;
  for (RunRecord::Decided& each : decisions) {
    what.push_back(std::move(each.decision));
  }
  column(archive, "who", decisions, &RunRecord::Decided::who);
  column(archive, "at", what, &DecisionRecord::at);
  column(archive, "kind", what, &DecisionRecord::kind);
  column(archive, "what", what, &DecisionRecord::what);
  column(archive, "reason", what, &DecisionRecord::reason);
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    decisions[i].decision = std::move(what[i]);
  }
}

// Gives a list that is kept the shape of an object with a state.
template <class Entry>
struct KeptColumns {
  Kept<Entry>& kept;
  void state(Archive& archive) {
    kept.state(archive, [&](std::vector<Entry>& entries) { columns(archive, entries); });
  }
};

template <class Entry>
void kept(Archive& archive, std::string_view name, Kept<Entry>& list) {
  KeptColumns<Entry> in_columns{list};
  archive(name, in_columns);
}

struct OneSpan {
  std::optional<Span>& span;
  void state(Archive& archive) {
    std::vector<Span> spans;
    bool is_there = span.has_value();
    archive("is_there", is_there);
    if (is_there) {
      spans.push_back(span.value_or(Span{}));
      columns(archive, spans);
      span = spans.front();
    }
  }
};

}  // namespace

void RunRecord::Worker::state(Archive& archive) {
  archive("compute", latest.compute);
  archive("communicate", latest.communicate);
  archive("wait", latest.wait);
  archive("samples", latest.samples);
  archive("steps", latest.steps);
  archive("share", latest.share);
  archive("bytes_sent", latest.bytes_sent);
  kept(archive, "spans", spans);
  kept(archive, "exchanges", exchanges);
  OneSpan last{last_step};
  archive("last_step", last);
}

void RunRecord::state(Archive& archive) {
  archive("seconds", seconds_);
  archive("samples", samples_);
  archive("train_loss", train_loss_);
  archive("metrics", metrics_);
  for (std::size_t rank = 0; rank < workers_.size(); ++rank) {
    archive(std::to_string(rank), workers_[rank]);
  }
  archive("written", written_);
  archive("timeline", timeline_);
  kept(archive, "evaluations", evaluations_);
  kept(archive, "decisions", decisions_);
  archive("behind", behind_);
}

void RunRecord::take_over(const RunRecord& before) {
  seconds_ = before.seconds_;
  samples_ = before.samples_;
  train_loss_ = before.train_loss_;
  metrics_ = before.metrics_;
  behind_ = before.behind_;
  before.evaluations_.for_each([&](const Span& span) { evaluations_.add(span); });
  const Rank both = std::min(facts_.workers, before.facts_.workers);
  before.decisions_.for_each([&](const Decided& each) {
    if (each.who < both) {
      decisions_.add(each);
    }
  });
  const Seconds width = before.bin_width();
  for (Rank rank = 0; rank < both; ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    workers_[index].latest = before.workers_[index].latest;
    workers_[index].last_step = before.workers_[index].last_step;
    before.workers_[index].spans.for_each(
        [&](const Span& span) { workers_[index].spans.add(span); });
    written_[index] = before.written_[index];
    for (std::size_t row = 0; row < kRows; ++row) {
      const auto amounts = before.row(rank, static_cast<Row>(row));
      for (std::size_t bin = 0; bin < amounts.size(); ++bin) {
        const Seconds begin = static_cast<Seconds>(bin) * width;
        timeline_.add(row_of(rank, static_cast<Row>(row)), begin, begin + width, amounts[bin]);
      }
    }
  }
}

}  // namespace motley
