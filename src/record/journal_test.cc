#include "motley/record/journal.h"

#include <gtest/gtest.h>

#include <array>

namespace motley {
namespace {

TEST(Journal, GivesEveryEntryOnce) {
  Journal journal;
  journal.add(Span{0, 1, 0, 5, Doing::kCompute});
  journal.add(Exchange{0.5, 0.75, 3, 100});
  journal.add(DecisionRecord{1, "shares", "1 1 -> 2 0", "why"});
  journal.set_behind("whom", std::array<std::int64_t, 2>{4, 1}, 1);
  JournalEntries entries;
  journal.take(entries);
  EXPECT_EQ(entries.spans, (std::vector<Span>{{0, 1, 0, 5, Doing::kCompute}}));
  EXPECT_EQ(entries.exchanges, (std::vector<Exchange>{{0.5, 0.75, 3, 100}}));
  EXPECT_EQ(entries.decisions, (std::vector<DecisionRecord>{{1, "shares", "1 1 -> 2 0", "why"}}));
  ASSERT_TRUE(entries.behind);
  EXPECT_EQ(entries.behind->counts, (std::vector<std::int64_t>{4, 1}));
  EXPECT_EQ(entries.behind->farthest, 1);

  journal.add(Span{1, 2, 1, 6, Doing::kWait});
  journal.take(entries);
  EXPECT_EQ(entries.spans.size(), 1U);
  EXPECT_TRUE(entries.exchanges.empty());
  EXPECT_TRUE(entries.decisions.empty());
  EXPECT_FALSE(entries.behind);
}

TEST(Journal, IsBoundedWhenNobodyTakesIt) {
  Journal journal(3);
  Journal unread(0);
  for (int i = 0; i < 10; ++i) {
    journal.add(Span{0, 1, i, 1, Doing::kCompute});
    unread.add(Span{0, 1, i, 1, Doing::kCompute});
  }
  unread.set_behind("whom", {}, 0);
  JournalEntries entries;
  journal.take(entries);
  EXPECT_EQ(entries.spans.size(), 3U);
  unread.take(entries);
  EXPECT_TRUE(entries.spans.empty());
  EXPECT_FALSE(entries.behind);
}

}  // namespace
}  // namespace motley
