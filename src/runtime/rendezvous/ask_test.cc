// What people ask of a run, over sockets.
#include "runtime/rendezvous/ask.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "motley/version.h"
#include "runtime/rendezvous/addresses.h"
#include "tests/rendezvous_tools.h"

namespace motley::rendezvous_test {
namespace {

// A run that answers.
std::unique_ptr<Rendezvous> open_to_questions() {
  RendezvousRules more = rules(2);
  more.host.version = kVersion;
  auto rendezvous = open_rendezvous(more);
  rendezvous->set_status({.name = "fashion", .members = {{.id = 0}, {.id = 3}}});
  return rendezvous;
}

RunReply ask(Rendezvous& rendezvous, const RunRequest& request, const std::string& token = "t") {
  auto reply = std::async(std::launch::async,
                          [&] { return ask_run(rendezvous.endpoint(), token, request, kLong); });
  EXPECT_TRUE(
      look_until(rendezvous, [&] { return reply.wait_for(1ms) == std::future_status::ready; }));
  return reply.get();
}

std::string raw_answer(Rendezvous& rendezvous, const std::string& line) {
  RawClient client = raw(rendezvous.endpoint());
  client.send(line + "\n");
  return rest_of(client, rendezvous);
}

TEST(AskRun, StatusAndDrainAreAnswered) {
  const auto rendezvous = open_to_questions();
  const RunReply status = ask(*rendezvous, {"status"});
  EXPECT_EQ(status.kind, RunReply::Kind::kAnswered);
  EXPECT_EQ(Json::parse(status.text)["status"]["name"], "fashion");
  const RunReply drain = ask(*rendezvous, {"drain", 3});
  EXPECT_EQ(drain.kind, RunReply::Kind::kAnswered);
  EXPECT_EQ(Json::parse(drain.text)["draining"], 3);
  EXPECT_EQ(rendezvous->take_drain_requests(), std::vector<int>{3});
  const RunReply unknown = ask(*rendezvous, {"drain", 7});
  EXPECT_EQ(unknown.kind, RunReply::Kind::kRefused);
  EXPECT_EQ(unknown.text, "there is no worker 7; workers of this run: 0, 3");
  // Whoever asks does not take part.
  EXPECT_EQ(rendezvous->missing(), std::vector<Rank>{1});
}

TEST(AskRun, WithoutTheTokenNothingIsLearnt) {
  const auto rendezvous = open_to_questions();
  for (const RunRequest& request :
       {RunRequest{"status"}, RunRequest{"drain", 3}, RunRequest{"drain", 7}, RunRequest{"x"}}) {
    const RunReply reply = ask(*rendezvous, request, "other");
    EXPECT_EQ(reply.kind, RunReply::Kind::kRefused);
    EXPECT_EQ(reply.text,
              "refused by rank 0 (pid 70 on a): the request is meant for another run: its token "
              "(MOTLEY_TOKEN) differs");
  }
  EXPECT_TRUE(rendezvous->take_drain_requests().empty());
}

TEST(AskRun, AnotherVersionIsRefusedAndIsNoConflict) {
  const auto rendezvous = open_to_questions();
  const auto answer = Json::parse(raw_answer(
      *rendezvous, R"({"motley": "0.0.1", "token": "t", "request": "drain", "worker": 3})"));
  EXPECT_EQ(answer["refused"],
            fmt::format("refused by rank 0 (pid 70 on a): it has motley {}, the request is from "
                        "0.0.1",
                        kVersion));
  EXPECT_EQ(rendezvous->conflict(), std::nullopt);
  EXPECT_TRUE(rendezvous->take_drain_requests().empty());
}

TEST(AskRun, ManyMembersAreToldWhole) {
  const auto rendezvous = open_to_questions();
  RunStatus status;
  for (int id = 0; id < 50'000; ++id) {
    status.members.push_back({.id = id, .host = "a host with a name of some length"});
  }
  rendezvous->set_status(status);
  const RunReply reply = ask(*rendezvous, {"status"});
  ASSERT_EQ(reply.kind, RunReply::Kind::kAnswered);
  EXPECT_GT(reply.text.size(), kLongestLine);
  EXPECT_EQ(Json::parse(reply.text)["status"]["members"].size(), 50'000U);
}

// Valid requests with a few bytes changed: each is answered by one line, and the run goes on.
TEST(AskRun, MalformedRequestsDoNoHarm) {
  const auto rendezvous = open_to_questions();
  const std::string good =
      fmt::format(R"({{"motley":"{}","token":"t","request":"drain","worker":3}})", kVersion);
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    std::string noise = good;
    for (std::uint64_t change = 0; change < 1 + random.below(4); ++change) {
      noise[random.below(noise.size())] = static_cast<char>(random.below(256));
    }
    const std::string answer = raw_answer(*rendezvous, noise);
    EXPECT_TRUE(Json::parse(answer, nullptr, false).contains("motley")) << seed << answer;
  }
  for (const int worker : rendezvous->take_drain_requests()) {
    EXPECT_TRUE(worker == 0 || worker == 3);
  }
  EXPECT_EQ(ask(*rendezvous, {"status"}).kind, RunReply::Kind::kAnswered);
}

TEST(AskRun, WhoeverDoesNotAnswerIsNamed) {
  const auto rendezvous = open_rendezvous(rules(1));  // nobody calls look()
  const RunReply silent = ask_run(rendezvous->endpoint(), "t", {"status"}, 0.02);
  EXPECT_EQ(silent.kind, RunReply::Kind::kSilent);
  EXPECT_EQ(silent.text, show(rendezvous->endpoint()) + " does not answer");
  const BoundPort nobody;
  const RunReply none = ask_run(nobody.endpoint, "t", {"status"}, 1);
  EXPECT_EQ(none.kind, RunReply::Kind::kSilent);
  EXPECT_EQ(none.text, "nothing listens at " + show(nobody.endpoint));
}

}  // namespace
}  // namespace motley::rendezvous_test
