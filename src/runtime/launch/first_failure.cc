#include "runtime/launch/first_failure.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "runtime/rendezvous/agreement.h"

namespace motley {
namespace {

constexpr std::size_t kBoxWidth = 70;  // between the borders

std::string_view line_of(std::string_view& text) {
  const auto line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

// How much a process tells about the cause of the failure; lower is better.
int distance_from_cause(const EndedProcess& process) {
  if (process.note) {
    return process.note->is_cause ? 0 : 2;
  }
  return process.was_stopped ? 3 : 1;
}

bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}

// The longest prefix of at most `width` characters, ending at a word boundary if possible.
std::string_view part_that_fits(std::string_view text, std::size_t width) {
  std::size_t end = 0;
  for (std::size_t shown = 0; end < text.size(); ++end) {
    if (begins_character(text[end]) && ++shown > width) {
      break;
    }
  }
  if (end == text.size()) {
    return text;
  }
  const auto space = text.substr(0, end + 1).rfind(' ');
  return text.substr(0, space == text.npos || space == 0 ? end : space);
}

// Lines between two borders, wrapped if they are longer.
class Box {
 public:
  void add(std::string_view label, std::string_view text) {
    const std::string blank(label.size(), ' ');
    do {
      const auto part = part_that_fits(text, kBoxWidth - label.size() - 1);
      text.remove_prefix(part.size());
      text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
      const std::size_t used = label.size() + width_of(part);
      lines_ += fmt::format("|{}{}{}|\n", label, part, std::string(kBoxWidth - used, ' '));
      label = blank;
    } while (!text.empty());
  }
  std::string text() const {
    const std::string edge = "+" + std::string(kBoxWidth, '-') + "+\n";
    return edge + lines_ + edge;
  }

 private:
  std::string lines_;
};

using RanksByEnd = std::map<std::string, std::set<Rank>>;

void add_ends(Box& box, std::string_view label, const RanksByEnd& ranks_by_end) {
  for (const auto& [end, ranks] : ranks_by_end) {
    box.add(label, show_ranks({ranks.begin(), ranks.end()}) + ": " + end);
    label = "            ";
  }
}

}  // namespace

std::optional<ErrorNote> parse_error_note(std::string_view text) {
  const auto kind = line_of(text);
  if (kind != "cause" && kind != "consequence") {
    return std::nullopt;
  }
  return ErrorNote{kind == "cause", for_people(std::string(line_of(text)), 1000)};
}

std::optional<std::size_t> first_failure(const std::vector<EndedProcess>& ended) {
  if (std::ranges::all_of(ended, [](const auto& one) { return one.status == 0; })) {
    return std::nullopt;
  }
  std::optional<std::size_t> first;
  for (std::size_t place = 0; place < ended.size(); ++place) {
    const bool is_nearer =
        !first || distance_from_cause(ended[place]) < distance_from_cause(ended[*first]);
    const bool is_cause = ended[place].note && ended[place].note->is_cause;
    const bool has_failed = !ended[place].is_lost && (ended[place].status != 0 || is_cause);
    if (has_failed && is_nearer) {
      first = place;
    }
  }
  return first;
}

std::string end_of(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return fmt::format("signal {} ({})", signal, strsignal(signal));
  }
  return fmt::format("exit code {}", WEXITSTATUS(status));
}

std::string show_ranks(const std::vector<Rank>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  const char* separator = "";
  for (std::size_t begin = 0; begin < ranks.size();) {
    std::size_t end = begin + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) {
      ++end;
    }
    if (end - begin > 2) {
      text += fmt::format("{}{}-{}", separator, ranks[begin], ranks[end - 1]);
      begin = end;
    } else {
      text += fmt::format("{}{}", separator, ranks[begin]);
      ++begin;
    }
    separator = ", ";
  }
  return text;
}

std::string failure_box(const FailureBox& box, const std::vector<EndedProcess>& ended,
                        std::size_t first) {
  const EndedProcess& process = ended[first];
  RanksByEnd others;
  RanksByEnd lost;
  for (const EndedProcess& other : ended) {
    if (&other != &process) {
      (other.is_lost ? lost : others)[end_of(other.status)].insert(other.rank);
    }
  }
  Box lines;
  lines.add(" motley launch: ", box.program + " failed");
  lines.add("   first    ", fmt::format("rank {} (host {}, pid {}), {}", process.rank, box.host,
                                        process.pid, end_of(process.status)));
  if (process.note && !process.note->message.empty()) {
    lines.add("   why      ", process.note->message);
  }
  lines.add("   log      ", box.log_dir + "/" + log_name(process.rank));
  add_ends(lines, "   others   ", others);
  add_ends(lines, "   lost     ", lost);
  return lines.text();
}

std::string log_name(Rank rank) { return fmt::format("rank_{}.log", rank); }

}  // namespace motley
