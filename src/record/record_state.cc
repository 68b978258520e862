// The state of a RunRecord. Spans, exchanges and decisions are stored by column: a checkpoint may
// hold a hundred thousand of them.
#include <algorithm>
#include <type_traits>
#include <utility>

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

void columns(Archive& archive, std::vector<TermRecord>& terms) {
  column(archive, "number", terms, &TermRecord::number);
  column(archive, "begin", terms, &TermRecord::begin);
  column(archive, "cause", terms, &TermRecord::cause);
  column(archive, "reason", terms, &TermRecord::reason);
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

struct StoredFigures {
  WorkerFigures& figures;
  void state(Archive& archive) {
    archive("compute", figures.compute);
    archive("communicate", figures.communicate);
    archive("wait", figures.wait);
    archive("samples", figures.samples);
    archive("steps", figures.steps);
    archive("share", figures.share);
    archive("bytes_sent", figures.bytes_sent);
  }
};

}  // namespace

void RunRecord::Worker::state(Archive& archive) {
  StoredFigures all{latest};
  StoredFigures before{earlier};
  archive("latest", all);
  archive("earlier", before);
  archive("joined", joined);
  archive("written", written);
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
  std::vector<int> ids(workers_.size());  // in the order of rows
  for (const Worker& worker : workers_) {
    ids[worker.row] = worker.id;
  }
  archive("room", room_);
  archive("ids", ids);
  archive("timeline", timeline_);
  if (!archive.is_saving()) {
    restore_places(ids);
  }
  for (Worker& worker : workers_) {
    archive(std::to_string(worker.id), worker);
  }
  archive("members", members_);
  kept(archive, "terms", terms_);
  kept(archive, "evaluations", evaluations_);
  kept(archive, "decisions", decisions_);
  archive("behind", behind_);
  if (!archive.is_saving()) {
    check_members();
    note_presence();
    for (int id = 0; id < facts_.workers; ++id) {
      make_worker(id);
    }
  }
}

void RunRecord::check_members() const {
  for (const MemberRecord& member : members_) {
    if (member.process.id < 0 || member.process.id >= kFirstServer) {
      throw StateError("the members of the record are not sound");
    }
  }
}

// Those of a record that was saved, by row.
void RunRecord::restore_places(const std::vector<int>& ids) {
  workers_.clear();
  for (const int id : ids) {
    const bool is_sound = id >= 0 && id < kFirstServer && !has_worker(id);
    if (!is_sound || ids.size() > room_ || timeline_.rows() != room_ * kRows) {
      throw StateError("the workers of the record are not sound");
    }
    make_worker(id);
  }
}

}  // namespace motley
