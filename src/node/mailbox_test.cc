#include "node/mailbox.h"

#include <gtest/gtest.h>

namespace motley {
namespace {

constexpr Channel kOther = Channel::kMethod;

Message message(Rank from, std::int64_t tag, Channel channel = Channel::kControl) {
  return {.from = from, .channel = channel, .header = {.tag = tag}, .payload = {}};
}

std::optional<std::int64_t> take_tag(Mailbox& box, Match match) {
  const auto taken = box.take(match);
  return taken ? std::optional(taken->header.tag) : std::nullopt;
}

// The peer named by the exception of take(); nullopt if it did not throw.
std::optional<Rank> missed(Mailbox& box, Match match) {
  try {
    box.take(match);
    return std::nullopt;
  } catch (const Interrupted& interrupted) {
    return interrupted.peer();
  }
}

TEST(Mailbox, HandsOutTheOldestFirst) {
  Mailbox box;
  box.put(message(1, 10));
  box.put(message(2, 20));
  box.put(message(1, 11));
  EXPECT_EQ(box.size(), 3U);
  EXPECT_EQ(take_tag(box, {Channel::kControl}), 10);
  EXPECT_EQ(take_tag(box, {Channel::kControl}), 20);
  EXPECT_EQ(take_tag(box, {Channel::kControl}), 11);
  EXPECT_EQ(take_tag(box, {Channel::kControl}), std::nullopt);
}

TEST(Mailbox, MatchesChannelAndSenderAndKeepsTheOrderOfEachPair) {
  Mailbox box;
  box.put(message(1, 10));
  box.put(message(2, 20));
  box.put(message(1, 30, kOther));
  box.put(message(2, 21));
  EXPECT_EQ(take_tag(box, {Channel::kControl, 2}), 20);
  EXPECT_EQ(take_tag(box, {Channel::kControl, 2}), 21);
  EXPECT_EQ(take_tag(box, {Channel::kControl, 2}), std::nullopt);
  EXPECT_EQ(take_tag(box, {kOther}), 30);
  EXPECT_EQ(take_tag(box, {Channel::kControl, 1}), 10);
  EXPECT_EQ(box.size(), 0U);
}

TEST(Mailbox, ALostPeerThrowsOnlyWhenWaitedFor) {
  Mailbox box;
  box.put(message(1, 10));
  box.lose(1, "worker 1 died");
  EXPECT_TRUE(box.is_lost(1));
  EXPECT_FALSE(box.is_lost(2));
  EXPECT_EQ(take_tag(box, {Channel::kControl, 1}), 10) << "arrived messages come first";
  EXPECT_EQ(missed(box, {Channel::kControl, 1}), 1);
  EXPECT_EQ(missed(box, {Channel::kControl, 2}), std::nullopt);
  EXPECT_EQ(missed(box, {Channel::kControl}), 1) << "from any: the message could have come from it";
}

TEST(Mailbox, TheFirstReasonOfALossIsKept) {
  Mailbox box;
  box.lose(1, "exit code 3");
  box.lose(1, "connection closed");
  try {
    box.take({Channel::kControl, 1});
    FAIL();
  } catch (const Interrupted& interrupted) {
    EXPECT_STREQ(interrupted.what(), "exit code 3");
  }
}

TEST(Mailbox, AForgottenPeerIsNotMissedByReceivesFromAny) {
  Mailbox box;
  box.lose(1, "died");
  box.forget(1);
  EXPECT_EQ(missed(box, {Channel::kControl}), std::nullopt);
  EXPECT_EQ(missed(box, {Channel::kControl, 1}), 1) << "from it alone no message can come";
  box.lose(2, "died too");
  EXPECT_EQ(missed(box, {Channel::kControl}), 2);
}

TEST(Mailbox, AStopThrowsOnceNothingMatches) {
  Mailbox box;
  box.put(message(1, 10));
  box.throw_if_over();
  box.stop("SIGINT");
  box.stop("a later reason");
  EXPECT_TRUE(box.run_stopped());
  EXPECT_EQ(take_tag(box, {Channel::kControl}), 10);
  try {
    box.take({Channel::kControl});
    FAIL();
  } catch (const Interrupted& interrupted) {
    EXPECT_EQ(interrupted.peer(), kAnyRank);
    EXPECT_STREQ(interrupted.what(), "SIGINT");
  }
  EXPECT_THROW(box.throw_if_over(), Interrupted);
}

TEST(Mailbox, AnEndedTermThrowsOnceNothingMatches) {
  Mailbox box;
  box.put(message(1, 10, kOther));
  box.end_term("worker 3 was lost");
  box.end_term("a later reason");
  EXPECT_TRUE(box.term_ended());
  EXPECT_FALSE(box.run_stopped());
  EXPECT_EQ(take_tag(box, {kOther}), 10);
  try {
    box.take({kOther});
    FAIL();
  } catch (const Interrupted& interrupted) {
    EXPECT_EQ(interrupted.peer(), kAnyRank);
    EXPECT_STREQ(interrupted.what(), "worker 3 was lost");
  }
}

TEST(Mailbox, ATermBeginsEmpty) {
  Mailbox box;
  box.put(message(1, 10, kOther));
  box.end_term("over");
  box.begin_term();
  EXPECT_EQ(box.size(), 0U);
  EXPECT_FALSE(box.over());
  EXPECT_EQ(take_tag(box, {kOther}), std::nullopt);
  box.put(message(1, 20, kOther));
  EXPECT_EQ(take_tag(box, {kOther}), 20);
}

TEST(Mailbox, ALossOutlivesATermAndForgettingDoesNot) {
  Mailbox box;
  box.lose(1, "died");
  box.forget(1);
  box.end_term("over");
  box.begin_term();
  EXPECT_TRUE(box.is_lost(1));
  EXPECT_EQ(missed(box, {Channel::kControl}), 1);
}

TEST(Mailbox, AStopOutlivesATerm) {
  Mailbox box;
  box.end_term("over");
  box.stop("SIGINT");
  box.begin_term();
  EXPECT_TRUE(box.over());
  EXPECT_EQ(missed(box, {Channel::kControl}), kAnyRank);
}

Message of_term(std::uint16_t term, std::int64_t tag) {
  Message message{.from = 1, .channel = method_channel(0), .header = {.tag = tag}, .payload = {}};
  message.term = term;
  return message;
}

TEST(Mailbox, MessagesOfEarlierTermsAreDroppedAndThoseOfLaterOnesWait) {
  Mailbox mailbox;
  mailbox.begin_term(5);
  mailbox.put(of_term(4, 1));
  mailbox.put(of_term(7, 2));
  mailbox.put(of_term(6, 3));
  EXPECT_FALSE(mailbox.take({method_channel(0)}));
  mailbox.begin_term(6);
  EXPECT_EQ(mailbox.take({method_channel(0)})->header.tag, 3);
  EXPECT_FALSE(mailbox.take({method_channel(0)}));
  mailbox.begin_term(8);
  EXPECT_FALSE(mailbox.take({method_channel(0)}));
}

// Others may begin a term first: what they send is there when this process begins it.
TEST(Mailbox, AMessageOfTheTermThatBeginsStays) {
  Mailbox mailbox;
  mailbox.begin_term(5);
  mailbox.put(of_term(5, 1));
  mailbox.begin_term(5);
  EXPECT_EQ(mailbox.take({method_channel(0)})->header.tag, 1);
}

TEST(Mailbox, NumbersOfTermsMayWrapAround) {
  Mailbox mailbox;
  mailbox.begin_term(65535);
  mailbox.put(of_term(0, 1));
  mailbox.put(of_term(65534, 2));
  EXPECT_FALSE(mailbox.take({method_channel(0)}));
  mailbox.begin_term(0);
  EXPECT_EQ(mailbox.take({method_channel(0)})->header.tag, 1);
}

TEST(Mailbox, ControlMessagesBelongToNoTerm) {
  Mailbox mailbox;
  Message message = of_term(9, 1);
  message.channel = Channel::kControl;
  mailbox.put(std::move(message));
  mailbox.begin_term(3);
  EXPECT_EQ(mailbox.take({Channel::kControl})->header.tag, 1);
}

// Processes 4 and 9 are ranks 0 and 1.
TEST(Mailbox, MessagesComeFromProcessesAndAreReceivedFromRanks) {
  Mailbox mailbox;
  Message early = of_term(2, 7);
  early.from = 9;
  mailbox.put(std::move(early));
  mailbox.begin_term(2, {4, 9});
  EXPECT_EQ(mailbox.process_of(1), 9);
  EXPECT_EQ(mailbox.process_of(kCoordinator), kCoordinator);
  EXPECT_EQ(mailbox.arrived_in_term(), 1U);
  EXPECT_EQ(mailbox.take({method_channel(0), 1})->header.tag, 7);
  Message foreign = of_term(2, 8);
  foreign.from = 1;
  mailbox.put(std::move(foreign));
  EXPECT_FALSE(mailbox.take({method_channel(0)})) << "process 1 is not a member";
  mailbox.lose(9, "gone");
  EXPECT_EQ(missed(mailbox, {method_channel(0), 1}), 1);
  EXPECT_EQ(missed(mailbox, {method_channel(0), 0}), std::nullopt);
  mailbox.put(message(9, 3));
  EXPECT_EQ(mailbox.take({Channel::kControl})->from, 9) << "a control message is of a process";
}

TEST(Mailbox, TheEndOfATermDoesNotEndControlMessages) {
  Mailbox mailbox;
  mailbox.end_term("over");
  EXPECT_FALSE(mailbox.take({Channel::kControl}));
  EXPECT_EQ(missed(mailbox, {method_channel(0)}), kAnyRank);
  mailbox.stop("the run is over");
  EXPECT_EQ(missed(mailbox, {Channel::kControl}), kAnyRank);
}

}  // namespace
}  // namespace motley
