#include "runtime/launch/lost_ranks.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <charconv>

#include "runtime/launch/children.h"

namespace motley {
namespace {

using Kind = ElasticNote::Kind;

struct KindName {
  Kind kind;
  std::string_view name;
  bool has_number;
};
constexpr KindName kKindNames[] = {{Kind::kSurvives, "survives", true},
                                   {Kind::kLost, "lost", true},
                                   {Kind::kOver, "over", false},
                                   {Kind::kLeft, "left", false}};

}  // namespace

std::string text_of(const ElasticNote& note) {
  const auto found = std::ranges::find(kKindNames, note.kind, &KindName::kind);
  return found->has_number ? fmt::format("{} {}\n", found->name, note.respawn)
                           : fmt::format("{}\n", found->name);
}

std::optional<ElasticNote> parse_elastic_note(std::string_view text) {
  const auto line = text.substr(0, text.find('\n'));
  const auto name = line.substr(0, line.find(' '));
  const auto found = std::ranges::find(kKindNames, name, &KindName::name);
  if (found == std::end(kKindNames) || found->has_number == (name.size() == line.size())) {
    return std::nullopt;
  }
  ElasticNote note{found->kind};
  if (!found->has_number) {
    return note;
  }
  const char* const end = line.data() + line.size();
  const auto [rest, error] = std::from_chars(line.data() + name.size() + 1, end, note.respawn);
  const bool is_number = error == std::errc() && rest == end && note.respawn >= 0;
  return is_number ? std::optional(note) : std::nullopt;
}

LostRanks::Verdict LostRanks::judge(Rank rank, int status, const std::optional<ElasticNote>& note,
                                    bool may_start) {
  if (rank == 0) {
    return Verdict::kIsOver;
  }
  const auto says = [&](Kind kind) { return note && note->kind == kind; };
  if (says(Kind::kLeft)) {
    return Verdict::kHasLeft;
  }
  const bool was_newcomer = is_newcomer(rank, note);
  const bool is_killed = says(Kind::kSurvives) && WIFSIGNALED(status);
  if (!is_killed && !((says(Kind::kLost) || was_newcomer) && status != 0)) {
    return Verdict::kIsOver;
  }
  Started& started = started_[rank];
  started.was_newcomer = was_newcomer;
  started.most = note ? note->respawn : started.most;
  // A newcomer that could not join would not join the next time.
  const bool is_hopeless = was_newcomer && !WIFSIGNALED(status);
  if (!may_start || is_hopeless || started.times >= started.most) {
    return Verdict::kIsLost;
  }
  ++started.times;
  return Verdict::kStartAgain;
}

std::string LostRanks::say(Rank rank, int status, Verdict verdict) const {
  if (verdict == Verdict::kHasLeft) {
    return fmt::format("rank {} has left the run; the others go on", rank);
  }
  const auto found = started_.find(rank);
  if (verdict == Verdict::kIsOver || found == started_.end()) {
    return "";
  }
  const Started& started = found->second;
  const std::string what = fmt::format("rank {} {}{}", rank, describe_status(status),
                                       started.was_newcomer ? " before it had joined again" : "");
  return verdict == Verdict::kStartAgain
             ? fmt::format("{}; started again ({} of {})", what, started.times, started.most)
             : what + "; the others go on without it";
}

}  // namespace motley
