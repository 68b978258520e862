#include "sync/hop/update_queue.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/random.h"

namespace motley {
namespace {

Payload model(float value) { return Payload::copy_of(std::span<const float>(&value, 1)); }

std::vector<std::int64_t> collected(UpdateQueue& queue, std::int64_t k, std::int64_t staleness) {
  std::vector<std::int64_t> iterations;
  for (const UpdateQueue::Update* update : queue.collect(k, staleness)) {
    iterations.push_back(update->iteration);
  }
  return iterations;
}

TEST(UpdateQueue, HandsOutTheUpdatesOfOneIteration) {
  UpdateQueue queue(2, 2);
  queue.enqueue(model(1), 0, 0);
  queue.enqueue(model(2), 1, 0);
  EXPECT_EQ(queue.coming(0, 0), 1);
  queue.enqueue(model(3), 0, 1);
  EXPECT_EQ(queue.coming(0, 0), 0);
  const auto updates = queue.collect(0, 0);
  ASSERT_EQ(updates.size(), 2U);
  EXPECT_EQ(updates[0]->model.floats()[0], 1);
  EXPECT_EQ(updates[1]->model.floats()[0], 3);
  queue.release(0, 0);
  EXPECT_EQ(queue.size(), 1U);
  EXPECT_EQ(queue.largest_size(), 3U);
  EXPECT_EQ(queue.dropped(), 0);
}

TEST(UpdateQueue, DropsWhatComesTooLate) {
  UpdateQueue queue(2, 3);
  queue.enqueue(model(1), 0, 0);
  EXPECT_EQ(collected(queue, 0, 0), (std::vector<std::int64_t>{0}));
  queue.release(0, 0);
  queue.enqueue(model(2), 0, 1);  // a backup worker that was not waited for
  EXPECT_EQ(queue.size(), 0U);
  EXPECT_EQ(queue.dropped(), 1);
  EXPECT_TRUE(collected(queue, 1, 0).empty());
}

// With staleness 2, iteration 5 uses the newest update of 3 to 7 and keeps 8 for later.
TEST(UpdateQueue, StaleUpdatesServeUntilAYoungerOneComes) {
  UpdateQueue queue(1, 4);
  queue.release(4, 2);
  queue.enqueue(model(1), 2, 0);
  EXPECT_EQ(queue.coming(5, 2), 1);
  queue.enqueue(model(1), 3, 0);
  EXPECT_EQ(queue.coming(5, 2), 0);
  EXPECT_EQ(collected(queue, 5, 2), (std::vector<std::int64_t>{3}));
  queue.enqueue(model(1), 4, 0);
  queue.enqueue(model(1), 7, 0);
  EXPECT_EQ(queue.size(), 1U);
  queue.enqueue(model(1), 8, 0);
  EXPECT_EQ(queue.size(), 2U);
  EXPECT_EQ(collected(queue, 5, 2), (std::vector<std::int64_t>{7}));
  queue.release(5, 2);
  EXPECT_EQ(queue.size(), 1U);    // 8 takes the place of 7
  EXPECT_EQ(queue.dropped(), 2);  // 2 came too late, 4 was never used
  for (std::int64_t k = 6; k <= 10; ++k) {
    EXPECT_EQ(collected(queue, k, 2), (std::vector<std::int64_t>{8}));
    queue.release(k, 2);
  }
  EXPECT_TRUE(collected(queue, 11, 2).empty());
  EXPECT_EQ(queue.coming(11, 2), 1);
  EXPECT_EQ(queue.dropped(), 2);
}

TEST(UpdateQueue, NobodyWaitsForWhoSkippedOrLeft) {
  UpdateQueue queue(2, 4);
  queue.enqueue(model(1), 3, 0);
  EXPECT_EQ(queue.coming(2, 0), 1);  // sender 0 is past iteration 2
  queue.leave(1);
  EXPECT_EQ(queue.coming(2, 0), 0);
  EXPECT_TRUE(collected(queue, 2, 0).empty());
  EXPECT_EQ(collected(queue, 3, 0), (std::vector<std::int64_t>{3}));
}

TEST(UpdateQueue, ASenderCannotGoBack) {
  UpdateQueue queue(1, 2);
  queue.enqueue(model(1), 1, 0);
  EXPECT_DEATH(queue.enqueue(model(1), 1, 0), "update 1 after update 1");
}

// Compared with a list of all updates, with senders as far ahead as the slots allow.
RC_GTEST_PROP(UpdateQueue, IsAListWithLimitedRoom, ()) {
  Random random(*rc::gen::arbitrary<std::uint32_t>());
  const std::size_t senders = 1 + random.below(4);
  const auto staleness = static_cast<std::int64_t>(random.below(4));
  const std::int64_t ahead = 1 + staleness;
  UpdateQueue queue(senders, ahead + 1);
  std::vector<std::map<std::int64_t, float>> all(senders);
  for (std::int64_t k = 0; k < 40; ++k) {
    for (std::size_t sender = 0; sender < senders; ++sender) {
      auto& sent = all[sender];
      while ((sent.empty() ? -1 : sent.rbegin()->first) < k + ahead && random.below(3) > 0) {
        const std::int64_t next = sent.empty() ? 0 : sent.rbegin()->first + 1;
        sent[next] = static_cast<float>(random.uniform());
        queue.enqueue(model(sent[next]), next, sender);
      }
    }
    RC_ASSERT(queue.size() <= senders * static_cast<std::size_t>(ahead + 1));
    const auto updates = queue.collect(k, staleness);
    std::vector<float> expected;
    for (const auto& sent : all) {
      for (std::int64_t age = -staleness; age <= staleness; ++age) {
        if (const auto found = sent.find(k - age); found != sent.end()) {
          expected.push_back(found->second);
          break;
        }
      }
    }
    RC_ASSERT(updates.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      RC_ASSERT(updates[i]->model.floats()[0] == expected[i]);
    }
    queue.release(k, staleness);
  }
}

}  // namespace
}  // namespace motley
