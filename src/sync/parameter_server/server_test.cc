// The generic server with a gate that no method uses.
#include "motley/sync/parameter_server/server.h"

#include <gtest/gtest.h>

#include "motley/sync/parameter_server/client.h"
#include "motley/sync/parameter_server/staleness_bound.h"
#include "sim/cluster.h"
#include "sync/parameter_server/gate_journal.h"
#include "tests/simulated_job.h"

namespace motley {
namespace {

struct OddNote {
  std::int64_t count = 0;
  Seconds at = 0;
};

// Applies every commit at once, and adds a note to every second one.
class NotingGate final : public CommitGate {
 public:
  void arrive(const ArrivedCommit& commit) override { arrived_.push_back(commit); }
  void leave(Rank) override {}
  std::vector<GateDecision> decide() override {
    std::vector<GateDecision> decisions;
    for (const ArrivedCommit& commit : std::exchange(arrived_, {})) {
      const bool is_odd = ++count_ % 2 == 1;
      Payload note = is_odd ? Payload::of_record(OddNote{count_, commit.at}) : Payload();
      decisions.push_back(
          {.worker = commit.worker, .applied = true, .reason = "so it is", .note = note});
    }
    return decisions;
  }
  Figures figures() const override { return {{"commits_seen", count_}}; }

 private:
  std::vector<ArrivedCommit> arrived_;
  std::int64_t count_ = 0;
};

// For a real model and for a phantom.
TEST(ParameterServer, AGatesNotesReachTheWorker) {
  for (const bool phantom : {false, true}) {
    const Job job = simulated_job("ps_asp", equal_speeds(1), 10, 1);
    SimCluster cluster(job.cluster, 1);
    Journal journal;
    Figures figures;
    cluster.start(1, [&](Node& node) {
      figures =
          run_parameter_server({node, job, journal}, {.gate = std::make_unique<NotingGate>()});
    });
    std::vector<std::optional<OddNote>> notes;
    cluster.start(0, [&](Node& node) {
      std::vector<float> numbers(5, 1.0F);
      const Block block{phantom ? nullptr : numbers.data(), numbers.size()};
      ServerClient client(node, job, job.seed, block.size, 0);
      client.begin(block);
      for (int i = 0; i < 3; ++i) {
        const auto reply = client.commit(block, {.step = std::nullopt, .measured = i == 2}, block);
        notes.push_back(reply.notes.empty() ? std::nullopt : reply.notes[0].record<OddNote>());
      }
      client.leave(block);
      EXPECT_EQ(numbers[0], phantom ? 1.0F : 8.0F);  // each time its own values were added
    });
    cluster.run();
    ASSERT_EQ(notes.size(), 3U);
    ASSERT_TRUE(notes[0] && notes[2]);
    EXPECT_FALSE(notes[1]);
    EXPECT_EQ(notes[0]->count, 1);
    EXPECT_EQ(notes[2]->count, 3);
    EXPECT_GT(notes[2]->at, notes[0]->at);
    ASSERT_EQ(figures.size(), 1U);
    EXPECT_EQ(figures[0].value, FigureValue(std::int64_t{3}));
    JournalEntries entries;
    journal.take(entries);
    ASSERT_EQ(entries.decisions.size(), 3U);
    EXPECT_EQ(entries.decisions[0].kind, "released");
    EXPECT_EQ(entries.decisions[0].reason, "so it is");
  }
}

TEST(GateJournal, WritesLessAndLessOfWhatAlternates) {
  Journal journal;
  GateJournal gate_journal(journal, 2);
  for (int i = 0; i < 1'000; ++i) {
    const GateDecision change{.worker = 1, .applied = i % 2 == 1, .reason = "why", .note = {}};
    gate_journal.write(change, i);
    const GateDecision same{.worker = 0, .applied = true, .reason = "", .note = {}};
    gate_journal.write(same, i);
  }
  JournalEntries entries;
  journal.take(entries);
  ASSERT_EQ(entries.decisions.size(), 8U + 6U);  // and the 16th, 32nd, ... 512th
  EXPECT_EQ(entries.decisions[0], (DecisionRecord{0, "held", "worker 1's commits wait", "why"}));
  EXPECT_EQ(entries.decisions.back(),
            (DecisionRecord{511, "released", "worker 1's commits are applied at once (change 512)",
                            "why"}));
}

}  // namespace
}  // namespace motley
