#include "runtime/run/control.h"

#include <algorithm>
#include <map>
#include <type_traits>
#include <variant>

#include "base/bytes.h"

namespace motley {
namespace {

// Each message type lists its fields once, in fields(), for both writing and reading.
struct Writing {
  ByteWriter& bytes;
  template <class T>
  void operator()(const T& value) {
    bytes.put(value);
  }
  void operator()(Doing doing) { bytes.put(static_cast<std::uint8_t>(doing)); }
  void operator()(const std::string& text) { bytes.put_string(text); }
  template <class T>
  requires std::is_arithmetic_v<T>
  void operator()(const std::vector<T>& numbers) { bytes.put_numbers(std::span(numbers)); }
  void operator()(const FigureValue& value) {
    bytes.put(static_cast<std::uint8_t>(value.index()));
    std::visit([this](const auto& its) { (*this)(its); }, value);
  }
  void operator()(std::monostate) {}
  void operator()(const std::map<std::string, double>& numbers) {
    bytes.put(static_cast<std::uint64_t>(numbers.size()));
    for (const auto& [name, value] : numbers) {
      bytes.put_string(name);
      bytes.put(value);
    }
  }
  void operator()(const std::optional<std::int64_t>& number) {
    bytes.put(number.has_value());
    bytes.put(number.value_or(0));
  }
  // The number of entries of a list, which follow. Each takes at least `least` bytes.
  template <class T>
  void count(const std::vector<T>& list, std::size_t /*least*/ = 1) {
    bytes.put(static_cast<std::uint64_t>(list.size()));
  }
};

struct Reading {
  ByteReader& bytes;
  template <class T>
  void operator()(T& value) {
    value = bytes.get<T>();
  }
  void operator()(Doing& doing) { doing = static_cast<Doing>(bytes.get<std::uint8_t>()); }
  void operator()(std::string& text) { text = bytes.get_string(); }
  template <class T>
  requires std::is_arithmetic_v<T>
  void operator()(std::vector<T>& numbers) { numbers = bytes.get_numbers<T>(); }
  void operator()(FigureValue& value) { read(value, bytes.get<std::uint8_t>()); }
  void operator()(std::monostate&) {}
  void operator()(std::map<std::string, double>& numbers) {
    for (std::size_t left = bytes.get_count(sizeof(std::uint64_t)); left > 0; --left) {
      std::string name = bytes.get_string();
      numbers[std::move(name)] = bytes.get<double>();
    }
  }
  void operator()(std::optional<std::int64_t>& number) {
    const bool has_value = bytes.get<bool>();
    const auto value = bytes.get<std::int64_t>();
    number = has_value ? std::optional(value) : std::nullopt;
  }
  // An index that is not in the variant leaves the value empty.
  template <std::size_t kKind = 0>
  void read(FigureValue& value, std::size_t kind) {
    if constexpr (kKind < std::variant_size_v<FigureValue>) {
      if (kind == kKind) {
        (*this)(value.emplace<kKind>());
      } else {
        read<kKind + 1>(value, kind);
      }
    }
  }
  template <class T>
  void count(std::vector<T>& list, std::size_t least = 1) {
    list.resize(bytes.get_count(least));
  }
};

void fields(auto&& each, auto& endpoint) requires requires { endpoint.host; }
{
  each(endpoint.host);
  each(endpoint.port);
  each(endpoint.local);
}

void fields(auto&& each, auto& info) requires requires { info.endpoint; }
{ fields(each, info.endpoint); }

void fields(auto&& each, auto& term) requires requires { term.owed; }
{
  each(term.number);
  each(term.begin);
  each(term.end);
  each.count(term.owed, 16);
  for (auto& range : term.owed) {
    each(range.begin);
    each(range.count);
  }
}

void fields(auto&& each, auto& info) requires requires { info.job; }
{
  each(info.job);
  each(info.heartbeat);
  each(info.is_server);
}

void members(auto&& each, auto& list) {
  each.count(list, 18);
  for (auto& member : list) {
    each(member.process);
    each(member.id);
    fields(each, member.endpoint);
  }
}

void fields(auto&& each, auto& processes) requires requires { processes.servers; }
{
  members(each, processes.workers);
  members(each, processes.servers);
}

void fields(auto&& each, auto& info) requires requires { info.others; }
{
  each(info.number);
  each(info.patience);
  members(each, info.others);
}

void fields(auto&& each, auto& info) requires requires { info.unreached; }
{
  each(info.number);
  each(info.unreached);
}

void fields(auto&& each, auto& info) requires requires { info.save; }
{
  fields(each, info.term);
  each(info.is_over);
  each(info.save);
  each(info.begins_at_once);
  each(info.has_state);
  each(info.keeps_random);
  each(info.is_first);
  fields(each, info.members);
  each(info.gone);
  each(info.reconnect);
}

// A worker's journal. The entries on how far workers are behind are the coordinator's own.
void fields(auto&& each, auto& entries) requires requires { entries.spans; }
{
  each.count(entries.spans, 33);
  for (auto& span : entries.spans) {
    each(span.begin);
    each(span.end);
    each(span.step);
    each(span.samples);
    each(span.doing);
  }
  each.count(entries.exchanges, 36);
  for (auto& exchange : entries.exchanges) {
    each(exchange.sent);
    each(exchange.received);
    each(exchange.from);
    each(exchange.bytes);
    each(exchange.waited);
  }
  each.count(entries.decisions, 20);
  for (auto& decision : entries.decisions) {
    each(decision.at);
    each(decision.kind);
    each(decision.what);
    each(decision.reason);
  }
}

void fields(auto&& each, auto& figures) requires requires { figures.communicate; }
{
  each(figures.compute);
  each(figures.communicate);
  each(figures.wait);
  each(figures.samples);
  each(figures.steps);
  each(figures.share);
  each(figures.bytes_sent);
}

void fields(auto&& each, auto& info) requires requires { info.progress; }
{
  each(info.seconds);
  each(info.progress.samples);
  each(info.loss.sum);
  each(info.loss.samples);
  each(info.counts);
  each(info.activity.doing);
  each(info.activity.waits_for);
  fields(each, info.news.figures);
  fields(each, info.news.entries);
}

void fields(auto&& each, auto& info) requires requires { info.snapshot; }
{
  each(info.note.seconds);
  each(info.note.samples);
  each(info.note.last);
  each(info.note.evaluate.number);
  each(info.note.evaluate.parts);
  each(info.snapshot.parameters);
  each(info.snapshot.buffers);
}

void fields(auto&& each, auto& allocation) requires requires { allocation.history; }
{
  each.count(allocation.history);
  for (auto& change : allocation.history) {
    each(change.step);
    each(change.decision.shares);
    each(change.decision.reason);
  }
  each(allocation.last_look);
  each(allocation.share);
  each(allocation.cost.fixed);
  each(allocation.cost.per_sample);
  each(allocation.cost.error);
  each(allocation.cost.fixed_known);
  each(allocation.cost.micro_batch);
}

void fields(auto&& each, auto& info) requires requires { info.result; }
{
  each(info.result.samples);
  each(info.result.steps);
  each(info.result.times.seconds);
  each(info.result.times.compute);
  each(info.result.times.communicate);
  each(info.result.times.wait);
  fields(each, info.result.allocation);
  each(info.cluster_samples);
  each(info.bytes_sent);
  each(info.paced_steps);
  each(info.missed_steps);
  each.count(info.figures, 5);
  for (auto& figure : info.figures) {
    each(figure.name);
    each(figure.value);
  }
}

void fields(auto&& each, auto& info) requires requires { info.reason; }
{
  each(info.peer);
  each(info.reason);
}

void fields(auto&& each, auto& info) requires requires { info.why; }
{
  each(info.term);
  if constexpr (requires { info.process; }) {
    each(info.process);
  }
  each(info.why);
}

void fields(auto&& each, auto& info) requires requires { info.survivor; }
{
  each(info.term);
  each(info.survivor.settled.used);
  each(info.survivor.settled.repeated);
  each(info.survivor.settled.unshared);
  each(info.survivor.settled.served);
  each(info.survivor.iterations);
  each(info.bytes_sent);
  each(info.goes_on);
}

void fields(auto&& each, auto& info) requires requires { info.evaluation; }
{
  each(info.samples);
  each(info.evaluation.loss);
  each(info.evaluation.accuracy);
  each(info.evaluation.metrics);
}

// Whether the decoded values are plausible. Most message types accept any value.
bool is_sound(const auto&) { return true; }

bool is_moment(Seconds moment) { return moment >= 0 && moment < 1e9; }
bool is_count(std::int64_t count) { return count >= 0 && count < (std::int64_t{1} << 50); }

bool is_span(const Span& span) {
  return is_moment(span.begin) && is_moment(span.end) && span.begin <= span.end &&
         is_count(span.step) && is_count(span.samples) && span.doing < Doing::kEvaluate;
}

bool is_exchange(const Exchange& exchange) {
  return is_moment(exchange.sent) && is_moment(exchange.received) && is_moment(exchange.waited) &&
         exchange.from >= 0 && is_count(exchange.bytes);
}

bool is_decision(const DecisionRecord& decision) { return is_moment(decision.at); }

bool is_sound(const ProgressInfo& info) {
  const auto& [figures, entries] = info.news;
  const auto counts = {info.progress.samples,
                       info.loss.samples,
                       figures.samples,
                       figures.steps,
                       static_cast<std::int64_t>(figures.share),
                       figures.bytes_sent};
  const auto moments = {info.seconds, figures.compute, figures.communicate, figures.wait};
  return info.activity.doing < Doing::kEvaluate && std::ranges::all_of(counts, is_count) &&
         std::ranges::all_of(moments, is_moment) && std::ranges::all_of(entries.spans, is_span) &&
         std::ranges::all_of(entries.exchanges, is_exchange) &&
         std::ranges::all_of(entries.decisions, is_decision);
}

bool is_sound(const Term& term) {
  return is_count(term.number) && is_count(term.begin) &&
         std::ranges::all_of(term.owed, [](const SampleRange& range) {
           return is_count(range.begin) && range.count > 0;
         });
}

bool is_sound(const ReachInfo& info) { return info.patience >= 0 && info.patience < 1e6; }

bool is_sound(const NextTermInfo& info) { return is_sound(info.term); }

bool is_sound(const SettledInfo& info) {
  const auto& [settled, iterations] = info.survivor;
  return is_count(settled.used) && is_count(settled.repeated) && is_count(iterations) &&
         is_count(settled.unshared.value_or(0)) && is_count(settled.served.value_or(0));
}

// Costs are divided by it.
bool is_sound(const DoneInfo& info) { return info.result.allocation.cost.micro_batch > 0; }

template <class Info>
Payload encoded(const Info& info) {
  ByteWriter bytes;
  fields(Writing{bytes}, info);
  return Payload::copy_of(std::span(bytes.bytes()));
}

}  // namespace

Payload encode(const JoinInfo& info) { return encoded(info); }
Payload encode(const StartInfo& info) { return encoded(info); }
Payload encode(const ProgressInfo& info) { return encoded(info); }
Payload encode(const SnapshotInfo& info) { return encoded(info); }
Payload encode(const NextTermInfo& info) { return encoded(info); }
Payload encode(const DoneInfo& info) { return encoded(info); }
Payload encode(const FailedInfo& info) { return encoded(info); }
Payload encode(const LostInfo& info) { return encoded(info); }
Payload encode(const ReachInfo& info) { return encoded(info); }
Payload encode(const ReachedInfo& info) { return encoded(info); }
Payload encode(const SettledInfo& info) { return encoded(info); }
Payload encode(const CutOffInfo& info) { return encoded(info); }
Payload encode(const EvaluatedInfo& info) { return encoded(info); }

template <class Info>
std::optional<Info> decode(const Payload& payload) {
  ByteReader bytes(payload.bytes());
  Info info;
  fields(Reading{bytes}, info);
  return bytes.complete() && is_sound(info) ? std::optional(std::move(info)) : std::nullopt;
}

template std::optional<JoinInfo> decode(const Payload&);
template std::optional<StartInfo> decode(const Payload&);
template std::optional<ProgressInfo> decode(const Payload&);
template std::optional<SnapshotInfo> decode(const Payload&);
template std::optional<NextTermInfo> decode(const Payload&);
template std::optional<DoneInfo> decode(const Payload&);
template std::optional<FailedInfo> decode(const Payload&);
template std::optional<LostInfo> decode(const Payload&);
template std::optional<ReachInfo> decode(const Payload&);
template std::optional<ReachedInfo> decode(const Payload&);
template std::optional<SettledInfo> decode(const Payload&);
template std::optional<CutOffInfo> decode(const Payload&);
template std::optional<EvaluatedInfo> decode(const Payload&);

}  // namespace motley
