#include "record/live_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace motley {
namespace {

// Two steps of each worker; the last worker is four times slower.
RunRecord record_of(int workers) {
  RunFacts facts;
  facts.name = "fashion";
  facts.mode = "train";
  facts.sync = "all_reduce";
  facts.allocation = "equal";
  facts.workers = workers;
  facts.batch = 100;
  facts.limit = 1'000;
  RunRecord record(facts);
  for (Rank rank = 0; rank < workers; ++rank) {
    const Seconds compute = rank == workers - 1 ? 4 : 1;
    WorkerNews news;
    news.figures.share = 25;
    news.entries.spans = {{0, compute, 0, 25, Doing::kCompute}};
    if (compute < 4) {
      news.entries.spans.push_back({compute, 4, 0, 0, Doing::kWait});
    }
    record.add(rank, news);
  }
  record.progress(4, 500, 0.25);
  record.add(Metric{4, 5, 500, 0.5, 0.75, {}});
  return record;
}

Moment moment() {
  Moment moment;
  moment.eta = 61;
  moment.activity_of = [](Rank rank) {
    return rank == 0 ? Activity{Doing::kWait, 3} : Activity{Doing::kCompute};
  };
  return moment;
}

TEST(LiveText, ShowsTheRunEveryWorkerAndTheStraggler) {
  const std::string block =
      fmt::format("{}", fmt::join(live_block(record_of(4), moment(), {120, 24}), "\n"));
  EXPECT_EQ(block, R"(fashion: all_reduce training of 4 workers, equal shares
[############............]  50 %  step 5/10  125 samples/s  loss 0.2500  accuracy 0.7500  ETA 1:01
  worker  samples/s  share  waits  now
       0         25     25   75 %  waits for 3
       1         25     25   75 %  computes
       2         25     25   75 %  computes
       3          6     25    0 %  computes
  straggler: worker 3 takes 4.0x as long for a sample as the median worker)");
}

TEST(LiveText, FitsAnyRoom) {
  const RunRecord record = record_of(40);
  for (std::size_t rows = 0; rows < 60; ++rows) {
    for (const std::size_t columns : {1U, 10U, 80U}) {
      const auto lines = live_block(record, moment(), {columns, rows});
      EXPECT_LE(lines.size() + 1, std::max<std::size_t>(rows, 2)) << rows;
      EXPECT_TRUE(rows > 3 || lines[0].starts_with("[")) << rows;
      for (const std::string& line : lines) {
        EXPECT_LE(line.size(), columns);
      }
    }
  }
  const auto lines = live_block(record, moment(), {80, 24});
  EXPECT_EQ(lines[lines.size() - 2], "  and 22 more workers");
}

TEST(LiveText, ANameMovesNoCursorAndIsCutBetweenCharacters) {
  RunFacts facts;
  facts.name = "\033[2Jäöü";
  const RunRecord record(facts);
  EXPECT_EQ(live_block(record, {}, {6, 24})[0], "?[2Jäö");
  facts.name = "模\xE2\x80\xAE\xC2\x9B型";
  EXPECT_EQ(live_block(RunRecord(facts), {}, {5, 24})[0], "模??");
}

TEST(LiveText, BeforeAnythingIsKnown) {
  RunFacts facts;
  facts.workers = 2;
  facts.limit = 100;
  const RunRecord record(facts);
  const auto lines = live_block(record, {}, {80, 24});
  EXPECT_EQ(lines[1], "[........................]   0 %  step 0/100");
  EXPECT_EQ(lines.size(), 5U);
}

TEST(LiveText, InALogEveryLineHasItsRank) {
  EXPECT_EQ(plain_lines(record_of(2), moment()),
            (std::vector<std::string>{
                "step 5/10  125 samples/s  loss 0.2500  accuracy 0.7500  ETA 1:01",
                "[rank 0] 25 samples/s, share 25, waits 75 %",
                "[rank 1] 6 samples/s, share 25, waits 0 %",
                "straggler: worker 1 takes 4.0x as long for a sample as the median worker"}));
  EXPECT_EQ(plain_lines(record_of(40), moment()).size(), 2U);
}

Moment stale_moment() {
  Moment stale = moment();
  stale.eta.reset();
  stale.stale_for = 12.7;
  return stale;
}

TEST(LiveText, OldRatesAreNotShownAsNews) {
  EXPECT_EQ(
      plain_lines(record_of(2), stale_moment()),
      (std::vector<std::string>{"step 5/10  no progress for 12 s  loss 0.2500  accuracy 0.7500",
                                "[rank 0] waits for 3", "[rank 1] computes"}));
  EXPECT_EQ(plain_lines(record_of(40), stale_moment()).size(), 1U);
  const std::string block =
      fmt::format("{}", fmt::join(live_block(record_of(2), stale_moment(), {120, 24}), "\n"));
  EXPECT_EQ(block, R"(fashion: all_reduce training of 2 workers, equal shares
[############............]  50 %  step 5/10  no progress for 12 s  loss 0.2500  accuracy 0.7500
  worker  samples/s  share  waits  now
       0          -     25      -  waits for 3
       1          -     25      -  computes)");
}

}  // namespace
}  // namespace motley
