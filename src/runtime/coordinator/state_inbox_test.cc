#include "runtime/coordinator/state_inbox.h"

#include <gtest/gtest.h>

namespace motley {
namespace {

State state_with(int value) {
  State state;
  state.values["x"] = value;
  return state;
}

std::vector<std::byte> chunk_of(int value) {
  return *OutgoingState(std::make_shared<const State>(state_with(value))).next();
}

TEST(StateInbox, HasAllWhenEachRequestIsAnswered) {
  StateInbox inbox;
  EXPECT_TRUE(inbox.has_all());
  inbox.expect(4, 10, false);
  inbox.expect(4, 11, true);
  EXPECT_TRUE(inbox.add(4, 11, chunk_of(1)));
  EXPECT_FALSE(inbox.has_all());
  EXPECT_TRUE(inbox.add(4, 10, chunk_of(2)));
  EXPECT_TRUE(inbox.has_all());
  const auto arrived = inbox.take();
  ASSERT_EQ(arrived.size(), 2U);
  EXPECT_TRUE(arrived[0].is_model);
  EXPECT_EQ(arrived[0].state, state_with(1));
  EXPECT_FALSE(arrived[1].is_model);
  EXPECT_TRUE(inbox.take().empty());
}

TEST(StateInbox, WhoIsGoneIsNotWaitedFor) {
  StateInbox inbox;
  inbox.expect(4, 10, false);
  inbox.expect(5, 11, false);
  inbox.drop(4);
  EXPECT_TRUE(inbox.add(5, 11, chunk_of(1)));
  EXPECT_TRUE(inbox.has_all());
  EXPECT_TRUE(inbox.add(4, 10, chunk_of(2))) << "what it had sent before is ignored";
  EXPECT_EQ(inbox.take().size(), 1U);
}

TEST(StateInbox, DamagedChunksAreRefusedAndForeignOnesIgnored) {
  StateInbox inbox;
  inbox.expect(4, 10, false);
  EXPECT_TRUE(inbox.add(5, 10, chunk_of(1))) << "of another process";
  EXPECT_FALSE(inbox.has_all());
  auto damaged = chunk_of(1);
  damaged[9] = std::byte{0xff};
  EXPECT_FALSE(inbox.add(4, 10, damaged));
}

}  // namespace
}  // namespace motley
