// Who is slow, but alive, is never taken for dead: the decider of silence in virtual time, with
// workers that say what real ones say (runtime/worker/worker.cc) and a coordinator that looks as
// the real one does (coordinator_events.cc).
#include <gtest/gtest.h>

#include <algorithm>
#include <queue>

#include "base/random.h"
#include "runtime/coordinator/roster.h"

namespace motley::silence_test {
namespace {

constexpr Seconds kTick = 0.02;         // between two looks of the coordinator
constexpr Seconds kMostInterval = 0.1;  // between two signs of life of a worker
constexpr int kSteps = 10;

// A run of workers that compute common steps, of which any may take ten times as long, several at
// once. A thread of its own sends signs of life, later than it should because the machine is busy.
class RunWithHiccups {
 public:
  explicit RunWithHiccups(std::uint64_t seed)
      : random_(seed),
        workers_(2 + static_cast<int>(random_.below(7))),
        heartbeat_(1 + 9 * random_.uniform()),
        // So slow steps are up to three times as long as the heartbeat.
        step_(heartbeat_ * (0.01 + 0.29 * random_.uniform())),
        interval_(std::min(heartbeat_ / kHeartbeatsPerDeadline, kMostInterval)),
        roster_(workers_, 0),
        beats_(static_cast<std::size_t>(workers_), 0) {
    for (Rank rank = 0; rank < workers_; ++rank) {
      roster_[rank].endpoint = Endpoint{"127.0.0.1", 1};
      roster_[rank].introduced = true;
    }
    end_of_step_ = take_step();
  }

  // From then on this worker says nothing any more.
  void kill(Rank rank, Seconds at) {
    dead_ = rank;
    died_ = at;
  }

  // Until its end, or until somebody is taken for dead: who, and when.
  struct Verdict {
    std::vector<Silence> lost;
    Seconds at = 0;
    Seconds excused = 0;  // in which the coordinator was away
    int slow_steps = 0;
  };
  Verdict look_until_the_end() {
    Verdict verdict;
    Seconds looked = 0;
    while (steps_ < kSteps || dead_) {
      const Seconds now = looked + next_pause();
      go_on_until(now);
      if (now - looked > Roster::kPause) {
        verdict.excused += now - looked;
      }
      roster_.look_again_after(now - looked, now);
      looked = now;
      verdict.at = now;
      verdict.slow_steps = slow_steps_;
      verdict.lost = roster_.silent(now, {60, heartbeat_});
      if (!verdict.lost.empty()) {
        return verdict;
      }
    }
    return verdict;
  }

  Seconds heartbeat() const { return heartbeat_; }

 private:
  // Mostly a tick; sometimes the coordinator's process is stopped or starved for a while.
  Seconds next_pause() {
    return random_.below(400) > 0 ? kTick * (1 + random_.uniform())
                                  : 3 * heartbeat_ * random_.uniform();
  }

  // The step lasts as long as that of its slowest worker.
  Seconds take_step() {
    bool is_slow = false;
    for (int worker = 0; worker < workers_; ++worker) {
      is_slow |= random_.below(8) == 0;
    }
    slow_steps_ += is_slow ? 1 : 0;
    return end_of_step_ + step_ * (is_slow ? 10 : 1);
  }

  // Everything that has arrived is read, and counts as heard at the time of reading.
  void go_on_until(Seconds now) {
    while (end_of_step_ <= now) {
      ++steps_;
      end_of_step_ = take_step();
    }
    for (Rank rank = 0; rank < workers_; ++rank) {
      Seconds& next = beats_[static_cast<std::size_t>(rank)];
      while (next <= now) {
        const bool is_dead = dead_ == rank && next >= *died_;
        if (!is_dead) {
          roster_[rank].heard = now;
        }
        next += interval_ + delay();
      }
    }
  }

  // Until the thread gets its turn: mostly at once, sometimes after half a heartbeat.
  Seconds delay() {
    return random_.below(50) > 0 ? 0.1 * interval_ * random_.uniform()
                                 : 0.5 * heartbeat_ * random_.uniform();
  }

  Random random_;
  const int workers_;
  const Seconds heartbeat_;
  const Seconds step_;
  const Seconds interval_;
  Roster roster_;
  std::vector<Seconds> beats_;  // when each worker says something next
  std::optional<Rank> dead_;
  std::optional<Seconds> died_;
  Seconds end_of_step_ = 0;
  int steps_ = 0;
  int slow_steps_ = 0;
};

TEST(Silence, WhoIsSlowIsNeverTakenForDead) {
  int slow_steps = 0;
  for (std::uint64_t seed = 1; seed <= 1'000; ++seed) {
    const auto verdict = RunWithHiccups(seed).look_until_the_end();
    ASSERT_TRUE(verdict.lost.empty()) << "seed " << seed << " at " << verdict.at;
    slow_steps += verdict.slow_steps;
  }
  EXPECT_GT(slow_steps, 3'000);
}

TEST(Silence, WhoIsDeadIsNoticed) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    RunWithHiccups run(seed);
    run.kill(1, 3);
    const auto verdict = run.look_until_the_end();
    ASSERT_EQ(verdict.lost.size(), 1U) << "seed " << seed;
    EXPECT_EQ(verdict.lost[0].process, 1);
    EXPECT_GT(verdict.at, 3) << "seed " << seed;
    EXPECT_LT(verdict.at, 3 + kSilentHeartbeats * run.heartbeat() + verdict.excused +
                              Roster::kPause + 2 * kTick)
        << "seed " << seed;
  }
}

}  // namespace
}  // namespace motley::silence_test
