#include "cli/show.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <system_error>

#include "session/recorded_run.h"

namespace motley {
namespace {

constexpr double kPaceMissedWorthSaying = 0.02;
constexpr std::size_t kFew = 16;  // entries of a list to show

void show_quality(const Summary& summary) {
  if (summary.metrics.empty()) {
    return;
  }
  const Metric& last = summary.metrics.back();
  fmt::print("  accuracy {:.4f}, loss {:.4f}", last.accuracy, last.loss);
  if (summary.target_accuracy) {
    if (const auto reached = time_to_target(summary.metrics, summary.target_accuracy)) {
      fmt::print("; {:g} reached after {:.2f} s", *summary.target_accuracy, *reached);
    } else {
      fmt::print("; {:g} not reached", *summary.target_accuracy);
    }
  }
  fmt::print("\n");
}

void show_workers(const Summary& summary) {
  fmt::print("  worker  share  samples/s  samples  compute s  communicate s  wait s\n");
  for (const WorkerSummary& worker : summary.workers) {
    const std::string speed =
        worker.samples_per_second ? fmt::format("{:.0f}", *worker.samples_per_second) : "?";
    fmt::print("  {:>6}  {:>5}  {:>9}  {:>7}  {:>9.2f}  {:>13.2f}  {:>6.2f}\n", worker.rank,
               worker.share, speed, worker.samples, worker.compute_seconds,
               worker.communicate_seconds, worker.wait_seconds);
  }
}

void show_changes(const Summary& summary) {
  const auto& [history, last_look] = summary.shares;
  if (history.size() > 1) {
    const ShareRecord& last = history.back();
    const std::size_t changes = history.size() - 1;
    fmt::print("  shares changed {}, last after step {}: {}\n",
               changes == 1 ? "once" : fmt::format("{} times", changes), last.step, last.reason);
  } else if (!last_look.empty()) {
    fmt::print("  shares never changed; last decision: {}\n", last_look);
  }
}

// Up to kFew numbers; "none" if there are none.
template <class Number>
std::string in_a_row(const std::vector<Number>& numbers) {
  std::vector<std::string> texts;
  for (const Number number : std::span(numbers).first(std::min(numbers.size(), kFew))) {
    texts.push_back(fmt::format("{:.4g}", static_cast<double>(number)));
  }
  return numbers.empty() ? "none"
                         : fmt::format("{}{}", fmt::join(texts, " "),
                                       texts.size() < numbers.size() ? " ..." : "");
}

std::string in_words(const FigureValue& figure) {
  return std::visit(
      []<class Value>(const Value& value) -> std::string {
        if constexpr (std::is_same_v<Value, std::monostate>) {
          return "none";
        } else if constexpr (std::is_same_v<Value, std::string>) {
          return value;
        } else if constexpr (std::is_arithmetic_v<Value>) {
          return fmt::format("{:.4g}", static_cast<double>(value));
        } else {
          return in_a_row(value);
        }
      },
      figure);
}

void show_method(const Summary& summary) {
  std::vector<std::string> parts;
  for (const Figure& figure : summary.method) {
    std::string name = figure.name;
    std::ranges::replace(name, '_', ' ');
    parts.push_back(fmt::format("{} {}", name, in_words(figure.value)));
  }
  if (!parts.empty()) {
    fmt::print("  {}: {}\n", summary.sync, fmt::join(parts, ", "));
  }
}

void warn_of_missed_pace(const Summary& summary) {
  double worst = 0;
  for (const WorkerSummary& worker : summary.workers) {
    worst = std::max(worst, worker.pace_missed.value_or(0));
  }
  if (worst > kPaceMissedWorthSaying) {
    fmt::print(
        stderr,
        "motley: this machine is too slow for the pace of the job: up to {:.0f} % of a worker's "
        "steps took longer than the job says, so the times are not reliable\n",
        worst * 100);
  }
}

}  // namespace

std::string where_saved(const std::filesystem::path& directory) {
  const std::filesystem::path report = directory / kReportFile;
  const std::string where = fmt::format("saved in {}", directory.string());
  std::error_code none;
  return std::filesystem::is_regular_file(report, none) ? where + ", report: " + report.string()
                                                        : where;
}

void show(const Summary& summary, const std::filesystem::path& directory) {
  const double rate =
      summary.seconds > 0 ? static_cast<double>(summary.samples) / summary.seconds : 0;
  fmt::print("{}: {} of {} workers, {}, {} shares\n", summary.name,
             summary.mode == "train" ? "training" : "simulation", summary.workers.size(),
             summary.sync, summary.allocation);
  fmt::print("  {} samples in {:.2f} s: {:.0f} samples/s", summary.samples, summary.seconds, rate);
  if (summary.ideal_samples_per_second > 0) {
    fmt::print(", {:.0f} % of what the workers could do",
               100 * rate / summary.ideal_samples_per_second);
  }
  fmt::print("\n");
  show_quality(summary);
  if (summary.workers.size() <= kFew) {
    show_workers(summary);
  }
  show_changes(summary);
  show_method(summary);
  if (summary.stopped) {
    fmt::print("  ended early: {}\n", *summary.stopped);
  }
  fmt::print("  {}\n", where_saved(directory));
  warn_of_missed_pace(summary);
}

}  // namespace motley
