#include "record/live_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

namespace motley {
namespace {

constexpr std::size_t kMostPlainWorkers = 16;
constexpr std::size_t kBarWidth = 24;
constexpr std::string_view kWorkerHead = "  worker  samples/s  share  waits  now";

std::string clock_text(Seconds seconds) {
  const long whole = std::lround(seconds);
  return whole < 3600 ? fmt::format("{}:{:02}", whole / 60, whole % 60)
                      : fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

double part_done(const RunRecord& record) {
  const auto limit = static_cast<double>(record.facts().limit);
  return limit > 0 ? std::clamp(static_cast<double>(record.samples()) / limit, 0.0, 1.0) : 0;
}

std::string bar(double part) {
  const auto full = static_cast<std::size_t>(part * static_cast<double>(kBarWidth));
  return fmt::format("[{:#<{}}{:.<{}}]", "", full, "", kBarWidth - full);
}

std::string speed_text(const WorkerPace& worker) {
  return worker.compute > 0 ? fmt::format("{:.0f}", worker.samples / worker.compute) : "?";
}

std::string wait_text(const WorkerPace& worker) {
  const Seconds all = worker.seconds();
  return fmt::format("{:.0f} %", all > 0 ? 100 * worker.wait / all : 0.0);
}

std::string doing_text(const Activity& activity) {
  switch (activity.doing) {
    case Doing::kCompute:
      return "computes";
    case Doing::kCommunicate:
      return "exchanges";
    case Doing::kWait:
      break;
    case Doing::kEvaluate:
      return "evaluates";
  }
  if (activity.waits_for == kCoordinator) {
    return "waits for the coordinator";
  }
  if (is_server_place(activity.waits_for)) {
    return fmt::format("waits for server {}", activity.waits_for - kFirstServer);
  }
  return activity.waits_for >= 0 ? fmt::format("waits for {}", activity.waits_for) : "waits";
}

std::string now_text(const Moment& moment, Rank rank) {
  return moment.activity_of ? doing_text(moment.activity_of(rank)) : "";
}

std::string straggler_text(const Straggler& straggler) {
  return fmt::format("straggler: worker {} {}", straggler.rank, straggler.reason);
}

// The bytes of the first UTF-8 character.
std::string_view next_character(std::string_view text) {
  std::size_t size = 1;
  while (size < text.size() && (static_cast<unsigned char>(text[size]) & 0xC0U) == 0x80U) {
    ++size;
  }
  return text.substr(0, size);
}

// Characters that move the cursor or change the direction of the line: ASCII and Latin-1 controls
// (C2 80 to C2 9F), direction marks and line separators (E2 80 8B to E2 81 AF).
bool is_control(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  return byte(0) < 0x20 || byte(0) == 0x7F ||
         (character.size() == 2 && byte(0) == 0xC2 && byte(1) < 0xA0) ||
         (character.size() == 3 && byte(0) == 0xE2 &&
          ((byte(1) == 0x80 && byte(2) >= 0x8B) || byte(1) == 0x81));
}

// The part of a line that fits into `columns`. Characters from E1 84 80 on (East Asian wide ones
// begin there) count as two columns, although some are narrow.
std::string cut(std::string_view line, std::size_t columns) {
  std::string text;
  std::size_t used = 0;
  while (!line.empty()) {
    const std::string_view character = next_character(line);
    const std::string_view shown = is_control(character) ? "?" : character;
    used += shown >= "\xE1\x84\x80" ? 2 : 1;
    if (used > columns) {
      break;
    }
    text += shown;
    line.remove_prefix(character.size());
  }
  return text;
}

std::string head_line(const RunRecord& record) {
  const RunFacts& facts = record.facts();
  return fmt::format("{}: {} {} of {} workers, {} shares", facts.name, facts.sync,
                     facts.mode == "train" ? "training" : "simulation", record.workers_there(),
                     facts.allocation);
}

}  // namespace

std::string progress_line(const RunRecord& record, const Moment& moment) {
  const std::int64_t batch = record.facts().batch;
  const auto steps = [&](std::int64_t samples) { return (samples + batch - 1) / batch; };
  std::string text =
      fmt::format("step {}/{}", steps(record.samples()), steps(record.facts().limit));
  if (moment.stale_for) {
    text += fmt::format("  no progress for {:.0f} s", std::floor(*moment.stale_for));
  } else if (record.seconds() > 0) {
    text += fmt::format("  {:.0f} samples/s", record.samples_per_second());
  }
  if (record.train_loss()) {
    text += fmt::format("  loss {:.4f}", *record.train_loss());
  }
  if (!record.metrics().empty() && !std::isnan(record.metrics().back().accuracy)) {
    text += fmt::format("  accuracy {:.4f}", record.metrics().back().accuracy);
  }
  if (moment.eta) {
    text += fmt::format("  ETA {}", clock_text(*moment.eta));
  }
  return text;
}

std::vector<std::string> live_block(const RunRecord& record, const Moment& moment, TextRoom room) {
  constexpr std::size_t kOtherLines = 5;  // besides the workers' lines, and one for the cursor
  const auto paces = record.recent();
  std::vector<std::string> lines = {head_line(record)};
  const double part = part_done(record);
  lines.push_back(fmt::format("{} {:>3.0f} %  {}", bar(part), std::floor(100 * part),
                              progress_line(record, moment)));
  const std::size_t space = room.rows > kOtherLines ? room.rows - kOtherLines : 0;
  const std::size_t shown =
      paces.size() <= space ? paces.size() : space - std::min<std::size_t>(space, 1);
  if (shown > 0) {
    lines.emplace_back(kWorkerHead);
  }
  for (std::size_t i = 0; i < shown; ++i) {
    const Rank rank = paces[i].rank;
    const bool stale = moment.stale_for.has_value();
    lines.push_back(fmt::format("  {:>6}  {:>9}  {:>5}  {:>5}  {}", rank,
                                stale ? "-" : speed_text(paces[i]),
                                record.worker(rank).latest.share, stale ? "-" : wait_text(paces[i]),
                                now_text(moment, rank)));
  }
  if (shown < paces.size() && space > 0) {
    lines.push_back(fmt::format("  and {} more workers", paces.size() - shown));
  }
  if (const auto straggler = find_straggler(paces); straggler && !moment.stale_for) {
    lines.push_back("  " + straggler_text(*straggler));
  }
  if (lines.size() + 1 > room.rows) {  // the bar is the most important line
    lines.erase(lines.begin());
    lines.resize(std::clamp<std::size_t>(room.rows, 2, lines.size() + 1) - 1);
  }
  for (std::string& line : lines) {
    line = cut(line, room.columns);
  }
  return lines;
}

std::vector<std::string> plain_lines(const RunRecord& record, const Moment& moment) {
  std::vector<std::string> lines = {progress_line(record, moment)};
  const auto paces = record.recent();
  const bool few = paces.size() <= kMostPlainWorkers;
  if (moment.stale_for) {
    for (std::size_t i = 0; few && moment.activity_of && i < paces.size(); ++i) {
      lines.push_back(
          fmt::format("[rank {0}] {1}", paces[i].rank, now_text(moment, paces[i].rank)));
    }
    return lines;
  }
  for (std::size_t i = 0; few && i < paces.size(); ++i) {
    const Rank rank = paces[i].rank;
    lines.push_back(fmt::format("[rank {}] {} samples/s, share {}, waits {}", rank,
                                speed_text(paces[i]), record.worker(rank).latest.share,
                                wait_text(paces[i])));
  }
  if (const auto straggler = find_straggler(paces)) {
    lines.push_back(straggler_text(*straggler));
  }
  return lines;
}

}  // namespace motley
