#include "record/trace.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

namespace {

// Printed in microseconds with three decimals.
struct TraceTime {
  motley::Seconds seconds;
};

}  // namespace

// In integers, which are formatted much faster than doubles: a trace has up to a million times.
template <>
struct fmt::formatter<TraceTime> {
  static constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  template <class Context>
  static auto format(const TraceTime& time, Context& context) {
    const long long nanoseconds = std::llround(std::abs(time.seconds) * 1e9);
    return fmt::format_to(context.out(), FMT_COMPILE("{}{}.{:03}"), time.seconds < 0 ? "-" : "",
                          nanoseconds / 1000, nanoseconds % 1000);
  }
};

namespace motley {
namespace {

// Written as text, event by event: a tree of a quarter of a million events would take gigabytes.
class TraceWriter {
 public:
  explicit TraceWriter(const RunRecord& record)
      : record_(record),
        first_server_(record.workers().empty() ? 0 : record.workers().back().id + 1) {
    for (const RunRecord::Worker& worker : record.workers()) {
      gaps_.emplace(worker.id, gaps_in(worker.spans));
    }
  }

  std::string write() {
    text_ = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
    name_processes();
    for (const RunRecord::Worker& worker : record_.workers()) {
      worker.spans.for_each([&](const Span& span) { add_span(worker.id, span); });
      worker.exchanges.for_each([&](const Exchange& each) { add_arrow(worker.id, each); });
    }
    record_.evaluations().for_each([&](const Span& span) { add_span(kCoordinator, span); });
    record_.decisions().for_each([&](const RunRecord::Decided& each) { add_decision(each); });
    record_.terms().for_each([&](const TermRecord& term) { add_term(term); });
    std::ranges::for_each(record_.members(), [&](const MemberRecord& each) { add_member(each); });
    text_ += "\n]}\n";
    return std::move(text_);
  }

 private:
  // Process ids in a trace start at 1 and are shown in this order: coordinator, workers, servers.
  int process_of(RecordPlace place) const {
    return 2 + (is_server_place(place) ? first_server_ + place - kFirstServer : place);
  }

  // The spans of a worker are contiguous but for those that were dropped, and while it was absent.
  struct Gap {
    Seconds begin = 0;
    Seconds end = 0;
  };
  static std::vector<Gap> gaps_in(const Kept<Span>& spans) {
    std::vector<Gap> gaps;
    Seconds written = 0;
    spans.for_each([&](const Span& span) {
      if (span.begin > written) {
        gaps.push_back({written, span.begin});
      }
      written = span.end;
    });
    return gaps;
  }

  bool has_span_at(RecordPlace place, Seconds moment) const {
    if (is_server_place(place)) {
      return true;  // it gets a span
    }
    const auto gaps = gaps_.find(place);
    if (gaps == gaps_.end()) {
      return false;
    }
    const auto next = std::ranges::lower_bound(gaps->second, moment, {}, &Gap::end);
    return next == gaps->second.end() || moment <= next->begin || moment >= next->end;
  }

  template <class Format, class... Parts>
  void event(const Format& format, const Parts&... parts) {
    line_.clear();
    fmt::format_to(fmt::appender(line_), format, parts...);
    text_ += is_first_ ? "{" : ",\n{";
    is_first_ = false;
    text_.append(line_.data(), line_.size());
    text_ += '}';
  }

  static std::string quoted(std::string_view text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

  void name_process(RecordPlace place, const std::string& name) {
    event(FMT_COMPILE(R"("ph":"M","name":"process_name","pid":{},"tid":0,"args":{{"name":"{}"}})"),
          process_of(place), name);
    event(
        FMT_COMPILE(
            R"("ph":"M","name":"process_sort_index","pid":{},"tid":0,"args":{{"sort_index":{}}})"),
        process_of(place), process_of(place));
  }

  void name_processes() {
    name_process(kCoordinator, "coordinator");
    for (const RunRecord::Worker& worker : record_.workers()) {
      name_process(worker.id, fmt::format("worker {}", worker.id));
    }
    for (int server = 0; server < record_.facts().servers; ++server) {
      name_process(kFirstServer + server, fmt::format("server {}", server));
    }
  }

  void add_span(RecordPlace place, const Span& span) {
    const std::string_view name = name_of(span.doing);
    const std::string samples =
        span.samples > 0 ? fmt::format(R"(,"samples":{})", span.samples) : "";
    event(FMT_COMPILE(R"("ph":"X","name":"{}","cat":"{}","pid":{},"tid":0,"ts":{},"dur":{},)"
                      R"("args":{{"step":{}{}}})"),
          name, name, process_of(place), TraceTime{span.begin}, TraceTime{span.end - span.begin},
          span.step, samples);
  }

  // An arrow needs a span at both ends; it is left out if one was dropped. Servers have no spans of
  // their own, so a short one stands for the answer.
  void add_arrow(RecordPlace to, const Exchange& exchange) {
    if (!has_span_at(exchange.from, exchange.sent) || !has_span_at(to, exchange.received)) {
      return;
    }
    const TraceTime sent{exchange.sent};
    const TraceTime received{exchange.received};
    if (is_server_place(exchange.from) && answers_.emplace(exchange.from, exchange.sent).second) {
      event(FMT_COMPILE(
                R"("ph":"X","name":"answer","cat":"exchange","pid":{},"tid":0,"ts":{},"dur":1)"),
            process_of(exchange.from), sent);
    }
    ++arrows_;
    event(FMT_COMPILE(
              R"("ph":"s","name":"exchange","cat":"exchange","id":{},"pid":{},"tid":0,"ts":{},)"
              R"("args":{{"bytes":{}}})"),
          arrows_, process_of(exchange.from), sent, exchange.bytes);
    event(FMT_COMPILE(
              R"("ph":"f","bp":"e","name":"exchange","cat":"exchange","id":{},"pid":{},"tid":0,)"
              R"("ts":{})"),
          arrows_, process_of(to), received);
  }

  void add_decision(const RunRecord::Decided& decided) {
    const DecisionRecord& decision = decided.decision;
    event(FMT_COMPILE(R"("ph":"i","s":"p","name":{},"cat":"decision","pid":{},"tid":0,"ts":{},)"
                      R"("args":{{"what":{},"reason":{}}})"),
          quoted(decision.kind), process_of(decided.who), TraceTime{decision.at},
          quoted(decision.what), quoted(decision.reason));
  }

  // A line through all processes.
  void add_term(const TermRecord& term) {
    event(FMT_COMPILE(R"("ph":"i","s":"g","name":"term {}: {}","cat":"term","pid":{},"tid":0,)"
                      R"("ts":{},"args":{{"cause":"{}","reason":{}}})"),
          term.number, name_of(term.cause), process_of(kCoordinator), TraceTime{term.begin},
          name_of(term.cause), quoted(term.reason));
  }

  void add_member(const MemberRecord& member) {
    const int process = process_of(record_place(member.process));
    if (member.joined > 0) {
      add_presence(process, member.joined, "joins", member.left ? "" : member.why);
    }
    if (member.left) {
      add_presence(process, *member.left, "goes", member.why);
    }
  }

  void add_presence(int process, Seconds at, std::string_view what, std::string_view why) {
    event(FMT_COMPILE(R"("ph":"i","s":"p","name":"{}","cat":"member","pid":{},"tid":0,"ts":{},)"
                      R"("args":{{"why":{}}})"),
          what, process, TraceTime{at}, quoted(why));
  }

  const RunRecord& record_;
  const int first_server_;
  std::map<int, std::vector<Gap>> gaps_;  // by worker
  std::string text_;
  fmt::memory_buffer line_;
  std::set<std::pair<RecordPlace, Seconds>>
      answers_;  // of servers, which may answer several workers at once
  bool is_first_ = true;
  std::int64_t arrows_ = 0;
};

}  // namespace

std::string trace_of(const RunRecord& record) { return TraceWriter(record).write(); }

}  // namespace motley
