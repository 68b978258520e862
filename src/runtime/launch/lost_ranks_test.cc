#include "runtime/launch/lost_ranks.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <signal.h>

namespace motley::lost_ranks_test {
namespace {

using Kind = ElasticNote::Kind;
using Verdict = LostRanks::Verdict;

constexpr int kExit0 = 0;  // as returned by waitpid
constexpr int kExit1 = 1 << 8;
constexpr int kKill = SIGKILL;

constexpr std::optional<ElasticNote> kNone;
std::optional<ElasticNote> survives(int respawn) { return ElasticNote{Kind::kSurvives, respawn}; }

TEST(LostRanks, ARankThatIsKilledIsStartedAgainSoOften) {
  LostRanks lost;
  EXPECT_EQ(lost.judge(2, kKill, survives(2), true), Verdict::kStartAgain);
  EXPECT_EQ(lost.say(2, kKill, Verdict::kStartAgain),
            "rank 2 was killed by signal 9 (Killed); started again (1 of 2)");
  EXPECT_TRUE(lost.is_newcomer(2, kNone));
  EXPECT_FALSE(lost.is_newcomer(2, survives(2)));
  EXPECT_EQ(lost.judge(1, kKill, survives(2), true), Verdict::kStartAgain) << "each on its own";
  EXPECT_EQ(lost.judge(2, kKill, survives(2), true), Verdict::kStartAgain);
  EXPECT_EQ(lost.judge(2, kKill, survives(2), true), Verdict::kIsLost);
  EXPECT_EQ(lost.say(2, kKill, Verdict::kIsLost),
            "rank 2 was killed by signal 9 (Killed); the others go on without it");
}

TEST(LostRanks, ANewcomerCannotFailTheRun) {
  LostRanks lost;
  lost.judge(1, kKill, survives(2), true);
  EXPECT_EQ(lost.judge(1, kKill, kNone, true), Verdict::kStartAgain);
  EXPECT_EQ(lost.say(1, kKill, Verdict::kStartAgain),
            "rank 1 was killed by signal 9 (Killed) before it had joined again; "
            "started again (2 of 2)");
  EXPECT_EQ(lost.judge(1, kExit1, kNone, true), Verdict::kIsLost);
  EXPECT_EQ(lost.say(1, kExit1, Verdict::kIsLost),
            "rank 1 exited with code 1 before it had joined again; the others go on without it");
  EXPECT_EQ(lost.judge(1, kExit0, kNone, true), Verdict::kIsOver);
  EXPECT_EQ(lost.judge(1, kExit1, survives(2), true), Verdict::kIsOver) << "it has joined";
}

// It was stopped for too long, or its network was gone.
TEST(LostRanks, WhoHasLostTheRunIsStartedAgain) {
  LostRanks lost;
  const ElasticNote note{Kind::kLost, 1};
  EXPECT_EQ(lost.judge(1, kExit1, note, true), Verdict::kStartAgain);
  EXPECT_EQ(lost.say(1, kExit1, Verdict::kStartAgain),
            "rank 1 exited with code 1; started again (1 of 1)");
  EXPECT_EQ(lost.judge(1, kExit1, note, true), Verdict::kIsLost);
  EXPECT_EQ(lost.judge(2, kKill, note, true), Verdict::kStartAgain);
  EXPECT_EQ(lost.judge(3, kExit0, note, true), Verdict::kIsOver);
}

TEST(LostRanks, WhoHasLeftMayEndAsItLikes) {
  for (const int status : {kExit0, kExit1, kKill}) {
    LostRanks lost;
    EXPECT_EQ(lost.judge(1, status, ElasticNote{Kind::kLeft}, true), Verdict::kHasLeft);
    EXPECT_EQ(lost.say(1, status, Verdict::kHasLeft), "rank 1 has left the run; the others go on");
  }
}

std::optional<ElasticNote> any_note() {
  const int number = *rc::gen::inRange(0, 5);
  return number == 4
             ? kNone
             : std::optional(ElasticNote{static_cast<Kind>(number), *rc::gen::inRange(0, 4)});
}

// Whatever happens: rank 0 is never lost, an exit of its own stays what it is unless the process is
// about to join again, and nothing is started more often than its note says.
RC_GTEST_PROP(LostRanks, OnlySignalsAreLosses, ()) {
  LostRanks lost;
  int started = 0;
  int most = 0;
  const int ends = *rc::gen::inRange(0, 20);
  for (int i = 0; i < ends; ++i) {
    const auto note = any_note();
    const int status = *rc::gen::element(kExit0, kExit1, kKill);
    const bool may_start = *rc::gen::arbitrary<bool>();
    RC_ASSERT(lost.judge(0, status, note, may_start) == Verdict::kIsOver);
    const bool takes_part = note && note->kind == Kind::kSurvives;
    const bool has_lost = note && note->kind == Kind::kLost;
    const bool is_newcomer = lost.is_newcomer(1, note);
    RC_ASSERT(is_newcomer == (started > 0 && !note));
    const Verdict verdict = lost.judge(1, status, note, may_start);
    if (takes_part || has_lost) {
      const bool is_loss = takes_part ? status == kKill : status != kExit0;
      RC_ASSERT((verdict == Verdict::kIsOver) == !is_loss);
      most = std::max(most, note->respawn);
    } else if (!is_newcomer && verdict != Verdict::kHasLeft) {
      RC_ASSERT(verdict == Verdict::kIsOver);
    }
    started += verdict == Verdict::kStartAgain;
    RC_ASSERT(started <= most);
    RC_ASSERT(may_start || verdict != Verdict::kStartAgain);
    RC_ASSERT(lost.say(1, status, verdict).empty() == (verdict == Verdict::kIsOver));
  }
}

RC_GTEST_PROP(ElasticNote, IsReadAsItWasWritten, ()) {
  const ElasticNote note{static_cast<Kind>(*rc::gen::inRange(0, 4)), *rc::gen::inRange(0, 1000)};
  const auto read = parse_elastic_note(text_of(note));
  RC_ASSERT(read && read->kind == note.kind);
  const bool has_number = note.kind == Kind::kSurvives || note.kind == Kind::kLost;
  RC_ASSERT(!has_number || read->respawn == note.respawn);
}

TEST(ElasticNote, DamagedOnesAreNone) {
  EXPECT_EQ(parse_elastic_note("survives 3\n").value().respawn, 3);
  EXPECT_EQ(parse_elastic_note("survives 3").value().respawn, 3);
  for (const char* other :
       {"", "\n", "survives", "survives ", "survives x", "survives -1", "survives 3x",
        "survives 99999999999999", "overt", "Left", "over 3", "lost"}) {
    EXPECT_FALSE(parse_elastic_note(other)) << other;
  }
}

}  // namespace
}  // namespace motley::lost_ranks_test
