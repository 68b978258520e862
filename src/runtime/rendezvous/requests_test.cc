#include "runtime/rendezvous/requests.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace motley::requests_test {
namespace {

using OrderedJson = nlohmann::ordered_json;

// Worker 2 was lost and came back; worker 3 is gone; worker 0 has the coordinator.
RunStatus sample_status() {
  RunStatus status{.name = "fashion", .method = "all_reduce", .seconds = 12.5};
  status.samples = 6400;
  status.limit = 25600;
  status.term = 3;
  status.members = {
      {.id = 0, .host = "a", .pid = 70, .doing = "computes", .cannot_leave = "rank 0 is the host"},
      {.id = 1, .host = "a", .pid = 71, .doing = "waits for 0"},
      {.id = 2, .host = "b", .pid = 72, .left = 2.5, .why = "lost: killed by SIGKILL"},
      {.id = 3, .host = "b", .pid = 73, .left = 3.25, .why = "left in order"},
      {.id = 2, .host = "b", .pid = 82, .doing = "computes"}};
  status.servers = {{.id = 4, .host = "a", .pid = 74, .doing = "serves"}};
  return status;
}

std::string refusal(RunRequests& requests, std::int64_t worker) {
  return requests.answer({"drain", worker}).value("refused", "no refusal");
}

TEST(RunRequests, StatusIsWhatWasSetLast) {
  RunRequests requests;
  EXPECT_EQ(requests.answer({"status"}).dump(), "{\"status\":null}");
  requests.set_status(sample_status());
  EXPECT_EQ(status_in(requests.answer({"status"})["status"]), sample_status());
  requests.set_status({});
  EXPECT_EQ(status_in(requests.answer({"status"})["status"]), RunStatus{});
}

TEST(RunRequests, TheNamesOfTheDocument) {
  const OrderedJson json = to_json(sample_status());
  EXPECT_EQ(json["limit"], 25600);
  EXPECT_EQ(json["members"][1].dump(),
            R"({"worker":1,"host":"a","pid":71,"doing":"waits for 0","left":null})");
  EXPECT_EQ(json["members"][3].dump(),
            R"({"worker":3,"host":"b","pid":73,"why":"left in order","left":3.25})");
  EXPECT_EQ(json["servers"][0]["server"], 4);
  EXPECT_TRUE(to_json(RunStatus{})["limit"].is_null());
}

TEST(RunRequests, AWorkerIsAskedToLeaveOnce) {
  RunRequests requests;
  requests.set_status(sample_status());
  for (const int worker : {2, 1, 2}) {
    EXPECT_EQ(requests.answer({"drain", worker})["draining"], worker);
  }
  EXPECT_EQ(requests.take_drain_requests(), (std::vector<int>{2, 1}));
  EXPECT_TRUE(requests.take_drain_requests().empty());
  EXPECT_EQ(requests.answer({"drain", 1})["draining"], 1);  // it is still there
  EXPECT_EQ(requests.take_drain_requests(), std::vector<int>{1});
}

TEST(RunRequests, WhoCannotLeaveIsRefusedByName) {
  RunRequests requests;
  EXPECT_EQ(refusal(requests, 1), "worker 1 cannot leave yet: the run has not begun");
  requests.set_status(sample_status());
  EXPECT_EQ(refusal(requests, 0), "worker 0 cannot leave: rank 0 is the host");
  EXPECT_EQ(refusal(requests, 3), "worker 3 left after 3.2 s: left in order");
  EXPECT_EQ(refusal(requests, 4), "there is no worker 4; workers of this run: 0, 1, 2");
  EXPECT_EQ(refusal(requests, -1), "there is no worker -1; workers of this run: 0, 1, 2");
  EXPECT_EQ(refusal(requests, (std::int64_t{1} << 32) + 1),
            "there is no worker 4294967297; workers of this run: 0, 1, 2");
  EXPECT_EQ(requests.answer({"drain"})["refused"], "which worker is to leave? `worker` is missing");
  EXPECT_EQ(requests.answer({"stop\n"})["refused"],
            "there is no request \"stop?\", only \"status\" and \"drain\"");
  EXPECT_TRUE(requests.take_drain_requests().empty());
}

TEST(RunStatus, OtherDocumentsAreNone) {
  for (const char* text :
       {"null", "[]", "3", R"({"name": 3})", R"({"seconds": "1"})", R"({"members": {}})",
        R"({"members": [3]})", R"({"members": [{"left": "x"}]})", R"({"limit": 1.5})"}) {
    EXPECT_EQ(status_in(OrderedJson::parse(text)), std::nullopt) << text;
  }
  EXPECT_EQ(status_in(OrderedJson::parse(R"({"later": [1], "members": [{"more": {}}]})")),
            (RunStatus{.members = {MemberStatus{}}}));
}

std::vector<MemberStatus> any_members() {
  std::vector<MemberStatus> members;
  for (int left = *rc::gen::inRange(0, 5); left > 0; --left) {
    MemberStatus member;
    member.id = *rc::gen::inRange(0, 6);
    member.host = *rc::gen::string<std::string>();
    member.pid = *rc::gen::arbitrary<int>();
    if (*rc::gen::arbitrary<bool>()) {
      member.left = *rc::gen::inRange(0, 1000) / 8.0;
      member.why = *rc::gen::string<std::string>();
    } else {
      member.doing = *rc::gen::string<std::string>();
    }
    members.push_back(member);
  }
  return members;
}

RC_GTEST_PROP(RunStatus, IsReadAsItWasWritten, ()) {
  RunStatus status;
  status.seconds = *rc::gen::inRange(0, 1'000'000) / 64.0;
  status.samples = *rc::gen::arbitrary<std::uint32_t>();
  status.limit = *rc::gen::arbitrary<std::uint32_t>();
  status.term = *rc::gen::inRange(0, 100);
  status.members = any_members();
  status.servers = any_members();
  RC_ASSERT(status_in(to_json(status)) == status);
}

// Whoever is asked to leave is there.
RC_GTEST_PROP(RunRequests, OnlyThoseWhoAreThereAreAskedToLeave, ()) {
  RunRequests requests;
  RunStatus status;
  status.members = any_members();
  requests.set_status(status);
  const int worker = *rc::gen::inRange(-1, 7);
  const bool is_there = std::ranges::any_of(status.members, [&](const MemberStatus& member) {
    return member.id == worker && !member.left;
  });
  RC_ASSERT(requests.answer({"drain", worker}).contains(is_there ? "draining" : "refused"));
  RC_ASSERT(requests.take_drain_requests().size() == (is_there ? 1U : 0U));
}

}  // namespace
}  // namespace motley::requests_test
