#include "runtime/launch/first_failure.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <sstream>

namespace motley::first_failure_test {
namespace {

constexpr int kCode1 = 1 << 8;  // as returned by waitpid
constexpr int kCode3 = 3 << 8;
constexpr int kKilled = 9;

enum class Kind { kFine, kCause, kNoNote, kConsequence, kStopped };

EndedProcess process(Rank rank, Kind kind) {
  EndedProcess one{rank, 100 + rank, kind == Kind::kFine ? 0 : kCode1, kind == Kind::kStopped};
  if (kind == Kind::kCause || kind == Kind::kConsequence) {
    one.note = ErrorNote{kind == Kind::kCause, "why"};
  }
  return one;
}

std::vector<EndedProcess> any_processes(std::vector<Kind>& kinds) {
  kinds = *rc::gen::container<std::vector<Kind>>(rc::gen::element(
      Kind::kFine, Kind::kCause, Kind::kNoNote, Kind::kConsequence, Kind::kStopped));
  std::vector<EndedProcess> ended;
  for (const Kind kind : kinds) {
    ended.push_back(process(static_cast<Rank>(ended.size()), kind));
  }
  return ended;
}

// Kinds are listed by precedence; among equals the first to end wins.
RC_GTEST_PROP(FirstFailure, TheBestKindAndThenTheFirst, ()) {
  std::vector<Kind> kinds;
  const auto ended = any_processes(kinds);
  std::optional<std::size_t> expected;
  for (const Kind kind : {Kind::kStopped, Kind::kConsequence, Kind::kNoNote, Kind::kCause}) {
    const auto found = std::ranges::find(kinds, kind);
    if (found != kinds.end()) {
      expected = static_cast<std::size_t>(found - kinds.begin());
    }
  }
  RC_ASSERT(first_failure(ended) == expected);
}

// A process that ended well changes nothing, whenever it ended.
RC_GTEST_PROP(FirstFailure, AProcessThatEndedWellIsNotBlamed, ()) {
  std::vector<Kind> kinds;
  auto ended = any_processes(kinds);
  const auto before = first_failure(ended);
  const std::size_t place = *rc::gen::inRange<std::size_t>(0, ended.size() + 1);
  ended.insert(ended.begin() + static_cast<std::ptrdiff_t>(place), process(1000, Kind::kFine));
  const auto after = first_failure(ended);
  RC_ASSERT(after.has_value() == before.has_value());
  if (after) {
    RC_ASSERT(*after == *before + (*before >= place ? 1 : 0));
  }
}

// A program that leaves its loop early and exits with 0 still ends the run for the others.
TEST(FirstFailure, ACauseMayHaveEndedWell) {
  EndedProcess left = process(1, Kind::kFine);
  left.note = ErrorNote{true, "left"};
  EXPECT_EQ(first_failure({process(0, Kind::kConsequence), left}), 1);
  EXPECT_EQ(first_failure({process(0, Kind::kFine), left}), std::nullopt);
}

TEST(FirstFailure, Notes) {
  EXPECT_TRUE(parse_error_note("cause\nno data\nmore\n").value().is_cause);
  EXPECT_EQ(parse_error_note("cause\nno data\nmore\n").value().message, "no data");
  EXPECT_FALSE(parse_error_note("consequence\nrank 1 is lost").value().is_cause);
  EXPECT_EQ(parse_error_note("consequence\nrank 1 is lost").value().message, "rank 1 is lost");
  EXPECT_EQ(parse_error_note("cause").value().message, "");
  EXPECT_EQ(parse_error_note("cause\n\x1b[2J").value().message, "?[2J");
  for (const char* other : {"", "\n", "causes\nx", "x\ncause\n"}) {
    EXPECT_FALSE(parse_error_note(other)) << other;
  }
}

RC_GTEST_PROP(FirstFailure, AnyTextIsANoteOrNone, ()) {
  const auto text = *rc::gen::arbitrary<std::string>();
  const auto note = parse_error_note("cause\n" + text);
  RC_ASSERT(note.has_value());
  RC_ASSERT(note->message.find('\n') == std::string::npos);
}

TEST(FirstFailure, Ends) {
  EXPECT_EQ(end_of(kCode3), "exit code 3");
  EXPECT_EQ(end_of(kKilled), "signal 9 (Killed)");
}

TEST(FirstFailure, Ranks) {
  EXPECT_EQ(show_ranks({3}), "rank 3");
  EXPECT_EQ(show_ranks({0, 1, 3}), "ranks 0, 1, 3");
  EXPECT_EQ(show_ranks({0, 1, 2, 3, 5, 7, 8, 9}), "ranks 0-3, 5, 7-9");
}

TEST(FirstFailure, TheBox) {
  const FailureBox box{"./train", "b", "launch-logs/20261116-180000"};
  std::vector<EndedProcess> ended = {{3, 78, kCode1, false},
                                     {2, 77, kCode1, false},
                                     {1, 76, kKilled, true},
                                     {0, 75, kCode1, false}};
  ended[1].note = ErrorNote{true, "dataset ended early"};
  EXPECT_EQ("\n" + failure_box(box, ended, 1), R"(
+----------------------------------------------------------------------+
| motley launch: ./train failed                                        |
|   first    rank 2 (host b, pid 77), exit code 1                      |
|   why      dataset ended early                                       |
|   log      launch-logs/20261116-180000/rank_2.log                    |
|   others   ranks 0, 3: exit code 1                                   |
|            rank 1: signal 9 (Killed)                                 |
+----------------------------------------------------------------------+
)");
}

// For any contents: the borders are straight and no word is lost.
RC_GTEST_PROP(FirstFailure, TheBoxIsABox, ()) {
  const auto words = *rc::gen::container<std::vector<std::string>>(
      rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::elementOf(std::string("abc-/")))));
  std::string message;
  for (const std::string& word : words) {
    message += (message.empty() ? "" : " ") + word;
  }
  EndedProcess one{0, 7, kCode1, false};
  one.note = ErrorNote{true, message};
  std::istringstream lines(failure_box({"./p", "h", std::string(90, 'd')}, {one}, 0));
  std::string said;
  for (std::string line; std::getline(lines, line); said += line) {
    RC_ASSERT(line.size() == 72U);
    RC_ASSERT(line.front() == line.back());
  }
  std::erase_if(said, [](char c) { return c == ' ' || c == '|'; });
  std::erase(message, ' ');
  const std::string why = message.empty() ? "" : "why" + message;
  RC_ASSERT(said.find(why + "log" + std::string(90, 'd')) != std::string::npos);
}

TEST(FirstFailure, TheBoxCountsCharacters) {
  EndedProcess one{0, 7, kCode1, false};
  one.note = ErrorNote{true, "f\xc3\xbcr"};
  EXPECT_NE(failure_box({"./p", "h", "l"}, {one}, 0)
                .find("|   why      f\xc3\xbcr" + std::string(55, ' ') + "|\n"),
            std::string::npos);
}

}  // namespace
}  // namespace motley::first_failure_test
