#include "record/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace motley {
namespace {

using Json = nlohmann::ordered_json;
using FigureOf = std::optional<double> ComparedRun::*;

enum class Better { kLess, kMore };

struct Column {
  std::string title;
  FigureOf figure;
  Better better;
  std::string (*text)(double value);
};

std::string two_decimals(double value) { return fmt::format("{:.2f}", value); }
std::string four_decimals(double value) { return fmt::format("{:.4f}", value); }
std::string whole(double value) { return fmt::format("{:.0f}", value); }
std::string percent(double value) { return fmt::format("{:.0f} %", 100 * value); }
std::string megabytes(double value) { return fmt::format("{:.1f}", 1e-6 * value); }
std::string times(double value) { return fmt::format("{:.2f}x", value); }

std::vector<Column> columns(const std::optional<std::string>& target) {
  std::vector<Column> all{
      {"seconds", &ComparedRun::seconds, Better::kLess, two_decimals},
      {"samples/s", &ComparedRun::samples_per_second, Better::kMore, whole},
      {"efficiency", &ComparedRun::efficiency, Better::kMore, percent},
  };
  if (target) {
    all.push_back({"s to " + *target, &ComparedRun::time_to_target, Better::kLess, two_decimals});
  }
  all.push_back({"speed-up", &ComparedRun::speedup, Better::kMore, times});
  all.push_back({"accuracy", &ComparedRun::accuracy, Better::kMore, four_decimals});
  all.push_back({"MB sent", &ComparedRun::bytes, Better::kLess, megabytes});
  all.push_back({"waiting", &ComparedRun::wait_share, Better::kLess, percent});
  return all;
}

// The value of a figure if the run counts.
std::optional<double> figure_of(const ComparedRun& run, FigureOf figure) {
  return run.trouble ? std::nullopt : run.*figure;
}

// The text of the best value of a column; empty if all look the same, since then none is better.
std::string best_text(const std::vector<ComparedRun>& runs, const Column& column) {
  std::optional<double> best;
  bool differ = false;
  for (const ComparedRun& run : runs) {
    const auto value = figure_of(run, column.figure);
    if (!value) {
      continue;
    }
    differ = differ || (best && column.text(*value) != column.text(*best));
    const bool better = !best || (column.better == Better::kLess ? *value < *best : *value > *best);
    best = better ? value : best;
  }
  return differ ? column.text(*best) : "";
}

std::vector<std::string> cells_of(const std::vector<ComparedRun>& runs, const Column& column) {
  const std::string best = best_text(runs, column);
  std::vector<std::string> cells{column.title + " "};
  for (const ComparedRun& run : runs) {
    const auto& value = run.*column.figure;
    const std::string text = value ? column.text(*value) : "-";
    cells.push_back(text + (!run.trouble && text == best ? "*" : " "));
  }
  return cells;
}

template <class Strings, class Of>
std::size_t widest(const Strings& strings, Of of) {
  std::size_t width = 0;
  for (const auto& each : strings) {
    width = std::max(width, of(each).size());
  }
  return width;
}

std::optional<double> number_in(const Json& summary, const char* key) {
  const auto found = summary.find(key);
  return found != summary.end() && found->is_number() ? std::optional(found->get<double>())
                                                      : std::nullopt;
}

std::optional<double> wait_share(const Json& summary) {
  const double whole_time = number_in(summary, "seconds").value_or(0);
  double waited = 0;
  double all = 0;
  for (const Json& worker : summary.value("per_worker", Json::array())) {
    waited += number_in(worker, "wait_seconds").value_or(0);
    all += whole_time;
  }
  return all > 0 ? std::optional(waited / all) : std::nullopt;
}

double pace_missed(const Json& summary) {
  double most = 0;
  for (const Json& worker : summary.value("per_worker", Json::array())) {
    most = std::max(most, number_in(worker, "pace_missed").value_or(0));
  }
  return most;
}

// The remark behind a row: what went wrong, or why its times are not reliable.
std::string remark(const ComparedRun& run) {
  constexpr double kWorthSaying = 0.02;
  if (run.trouble) {
    return *run.trouble;
  }
  return run.pace_missed > kWorthSaying
             ? fmt::format("pace missed in {:.0f} % of steps", 100 * run.pace_missed)
             : "";
}

// Larger is faster.
std::optional<double> speed_of(const ComparedRun& run, bool by_target) {
  if (run.trouble) {
    return std::nullopt;
  }
  if (!by_target) {
    return run.samples_per_second;
  }
  return run.time_to_target && *run.time_to_target > 0 ? std::optional(1 / *run.time_to_target)
                                                       : std::nullopt;
}

// "0.86", or "target" if runs have different targets; nullopt if none has one.
std::optional<std::string> target_in_words(const std::vector<ComparedRun>& runs) {
  std::optional<std::string> words;
  for (const ComparedRun& run : runs) {
    if (run.target) {
      const std::string its = fmt::format("{:g}", *run.target);
      words = !words || *words == its ? its : "target";
    }
  }
  return words;
}

}  // namespace

ComparedRun compared_run(const Json& summary) {
  ComparedRun run;
  run.name = summary.value("name", "");
  run.seconds = number_in(summary, "seconds");
  run.samples_per_second = number_in(summary, "samples_per_second");
  run.efficiency = number_in(summary, "efficiency");
  run.target = number_in(summary, "target_accuracy");
  run.time_to_target = number_in(summary, "time_to_target");
  run.accuracy = number_in(summary, "final_accuracy");
  run.bytes = number_in(summary, "bytes_sent");
  run.wait_share = wait_share(summary);
  run.pace_missed = pace_missed(summary);
  if (const std::string stopped = summary.value("stopped", "target"); stopped != "target") {
    run.trouble = "stopped by " + stopped;
  }
  return run;
}

Comparison::Comparison(std::vector<ComparedRun> runs)
    : runs_(std::move(runs)), target_(target_in_words(runs_)) {
  std::optional<double> first;
  for (ComparedRun& run : runs_) {
    const auto speed = speed_of(run, target_.has_value());
    first = first ? first : speed;
    run.speedup = speed && *first > 0 ? std::optional(*speed / *first) : std::nullopt;
  }
}

std::string Comparison::table() const {
  std::vector<std::string> lines{"variant"};
  for (const ComparedRun& run : runs_) {
    lines.push_back(run.name);
  }
  const std::size_t name_width = widest(lines, [](const std::string& name) { return name; });
  for (std::string& line : lines) {
    line.resize(name_width, ' ');
  }
  for (const Column& column : columns(target_)) {
    const auto cells = cells_of(runs_, column);
    const std::size_t width = widest(cells, [](const std::string& cell) { return cell; });
    for (std::size_t i = 0; i < lines.size(); ++i) {
      lines[i] += fmt::format("  {:>{}}", cells[i], width);
    }
  }
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string line = lines[i] + "  " + (i > 0 ? remark(runs_[i - 1]) : "");
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text + last_line();
}

std::string Comparison::last_line() const {
  const auto speedup = [](const ComparedRun& run) { return run.speedup.value_or(0); };
  const auto best = std::ranges::max_element(runs_, {}, speedup);
  const auto first =
      std::ranges::find_if(runs_, [](const ComparedRun& run) { return run.speedup.has_value(); });
  if (first == runs_.end()) {
    return target_ ? fmt::format("none reached {}\n", *target_) : "";
  }
  const std::string what = target_
                               ? fmt::format("{} after {:.2f} s", *target_, *best->time_to_target)
                               : fmt::format("{:.0f} samples/s", *best->samples_per_second);
  return best == first ? fmt::format("best: {}, {}\n", best->name, what)
                       : fmt::format("best: {}, {}, {:.2f}x as fast as {}\n", best->name, what,
                                     *best->speedup, first->name);
}

}  // namespace motley
