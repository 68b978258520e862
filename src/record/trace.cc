#include "record/trace.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <cmath>
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
  explicit TraceWriter(const RunRecord& record) : record_(record) {
    for (const RunRecord::Worker& worker : record.workers()) {
      gaps_.push_back(gap_in(worker.spans));
    }
  }

  std::string write() {
    text_ = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
    name_processes();
    for (Rank rank = 0; rank < record_.facts().workers; ++rank) {
      const RunRecord::Worker& worker = record_.workers()[static_cast<std::size_t>(rank)];
      worker.spans.for_each([&](const Span& span) { add_span(rank, span); });
      worker.exchanges.for_each([&](const Exchange& each) { add_arrow(rank, each); });
    }
    record_.evaluations().for_each([&](const Span& span) { add_span(kCoordinator, span); });
    record_.decisions().for_each([&](const RunRecord::Decided& each) { add_decision(each); });
    text_ += "\n]}\n";
    return std::move(text_);
  }

 private:
  // Process ids in a trace start at 1 and are shown in this order: coordinator, workers, servers.
  static int process_of(Rank rank) { return rank + 2; }

  // The spans of a worker are contiguous except for those that were dropped.
  struct Gap {
    Seconds begin = 0;
    Seconds end = 0;
  };
  static Gap gap_in(const Kept<Span>& spans) {
    Gap gap;
    Seconds written = 0;
    spans.for_each([&](const Span& span) {
      if (span.begin > written) {
        gap = {written, span.begin};
      }
      written = span.end;
    });
    return gap;
  }

  bool has_span_at(Rank rank, Seconds moment) const {
    if (rank >= record_.facts().workers) {
      return true;  // a server; it gets a span
    }
    const Gap& gap = gaps_[static_cast<std::size_t>(rank)];
    return moment <= gap.begin || moment >= gap.end;
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

  void name_process(Rank rank, const std::string& name) {
    event(FMT_COMPILE(R"("ph":"M","name":"process_name","pid":{},"tid":0,"args":{{"name":"{}"}})"),
          process_of(rank), name);
    event(
        FMT_COMPILE(
            R"("ph":"M","name":"process_sort_index","pid":{},"tid":0,"args":{{"sort_index":{}}})"),
        process_of(rank), rank);
  }

  void name_processes() {
    name_process(kCoordinator, "coordinator");
    const int workers = record_.facts().workers;
    for (Rank rank = 0; rank < workers; ++rank) {
      name_process(rank, fmt::format("worker {}", rank));
    }
    for (int server = 0; server < record_.facts().servers; ++server) {
      name_process(workers + server, fmt::format("server {}", server));
    }
  }

  void add_span(Rank rank, const Span& span) {
    const std::string_view name = name_of(span.doing);
    const std::string samples =
        span.samples > 0 ? fmt::format(R"(,"samples":{})", span.samples) : "";
    event(FMT_COMPILE(R"("ph":"X","name":"{}","cat":"{}","pid":{},"tid":0,"ts":{},"dur":{},)"
                      R"("args":{{"step":{}{}}})"),
          name, name, process_of(rank), TraceTime{span.begin}, TraceTime{span.end - span.begin},
          span.step, samples);
  }

  // An arrow needs a span at both ends; it is left out if one was dropped. Servers have no spans of
  // their own, so a short one stands for the answer.
  void add_arrow(Rank to, const Exchange& exchange) {
    if (!has_span_at(exchange.from, exchange.sent) || !has_span_at(to, exchange.received)) {
      return;
    }
    const TraceTime sent{exchange.sent};
    const TraceTime received{exchange.received};
    if (exchange.from >= record_.facts().workers &&
        answers_.emplace(exchange.from, exchange.sent).second) {
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

  const RunRecord& record_;
  std::vector<Gap> gaps_;  // by worker
  std::string text_;
  fmt::memory_buffer line_;
  std::set<std::pair<Rank, Seconds>>
      answers_;  // of servers, which may answer several workers at once
  bool is_first_ = true;
  std::int64_t arrows_ = 0;
};

}  // namespace

std::string trace_of(const RunRecord& record) { return TraceWriter(record).write(); }

}  // namespace motley
