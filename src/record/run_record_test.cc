#include "record/run_record.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "record/document.h"
#include "record/trace.h"
#include "state/state.h"

namespace motley {
namespace {

using Json = nlohmann::ordered_json;

RunFacts facts_of(int workers) {
  RunFacts facts;
  facts.name = "a <b> \"c\"";
  facts.mode = "simulate";
  facts.sync = "hop";
  facts.job = "name = \"x\"\n";
  facts.version = "1.2.3";
  facts.workers = workers;
  facts.batch = 10;
  facts.limit = 100;
  facts.ideal_samples_per_second = 8;
  facts.target_accuracy = 0.5;
  return facts;
}

// A step of 5 samples that takes 2 s, one of them computing.
WorkerNews step_news(std::int64_t step) {
  const auto begin = static_cast<Seconds>(2 * step);
  WorkerNews news;
  news.figures.samples = 5 * (step + 1);
  news.figures.steps = step + 1;
  news.figures.share = 5;
  news.entries.spans = {{begin, begin + 1, step, 5, Doing::kCompute},
                        {begin + 1, begin + 1.75, step, 0, Doing::kWait},
                        {begin + 1.75, begin + 2, step, 0, Doing::kCommunicate}};
  return news;
}

Summary summary_of_two() {
  Summary summary;
  summary.seconds = 8;
  summary.samples = 35;
  summary.metrics = {{4, 2, 20, 0.5, 0.4, {}}, {8, 4, 35, 0.25, 0.6, 0.3}};
  summary.method = {{"jumps", std::int64_t{3}}};
  for (const Rank rank : {0, 1}) {
    WorkerSummary& worker = summary.workers.emplace_back();
    worker.rank = rank;
    worker.steps = 4 - rank;
    worker.samples = 5 * worker.steps;
    worker.compute_seconds = static_cast<double>(worker.steps);
    worker.communicate_seconds = 0.25 * worker.compute_seconds;
    worker.wait_seconds = 8 - 1.25 * worker.compute_seconds;
    worker.bytes_sent = 7 + rank;
  }
  return summary;
}

RunRecord record_of_two() {
  RunRecord record(facts_of(2));
  for (std::int64_t step = 0; step < 4; ++step) {
    record.add(0, step_news(step));
    if (step < 3) {
      WorkerNews news = step_news(step);
      news.entries.exchanges = {{news.entries.spans[0].end, news.entries.spans[1].end, 0, 4'000}};
      record.add(1, news);
    }
  }
  WorkerNews decided;
  decided.entries.decisions = {{3, "jump", "iteration 1 -> 3", "far \"behind\""}};
  decided.entries.behind = Behind{"whom", {5, 1}, 9};
  decided.entries.spans = {{4, 4.5, 2, 0, Doing::kEvaluate}};
  record.add(kCoordinator, decided);
  WorkerNews of_server;
  of_server.entries.decisions = {{5, "held", "worker 1's commits wait", "too far ahead"}};
  record.add(kFirstServer, of_server);
  record.progress(8, 35, 0.25);
  return record;
}

TEST(RunRecord, EverySecondOfEveryWorkerIsAccountedFor) {
  RunRecord record = record_of_two();
  record.finish(summary_of_two());
  for (const WorkerPace& worker : record.paces()) {
    EXPECT_NEAR(worker.seconds(), 8, 1e-9) << worker.rank;
    const WorkerFigures& latest = record.workers()[static_cast<std::size_t>(worker.rank)].latest;
    EXPECT_NEAR(worker.compute, latest.compute, 1e-9);
    EXPECT_NEAR(worker.wait, latest.wait, 1e-9);
    EXPECT_NEAR(worker.communicate, latest.communicate, 1e-9);
    EXPECT_NEAR(worker.samples, static_cast<double>(latest.samples), 1e-9);
  }
}

TEST(RunRecord, TheDocumentOfARunThatGoes) {
  const RunRecord record = record_of_two();
  Moment moment;
  moment.eta = 12;
  moment.activity_of = [](Rank rank) {
    return rank == 0 ? Activity{Doing::kWait, 1} : Activity{Doing::kCompute};
  };
  const Json document = document_of(record, moment);
  EXPECT_EQ(document["state"], "running");
  EXPECT_EQ(document["eta_seconds"], 12);
  EXPECT_EQ(document["samples"], 35);
  EXPECT_EQ(document["per_worker"][0]["doing"], "wait");
  EXPECT_EQ(document["per_worker"][1]["doing"], "compute");
  EXPECT_EQ(document["method"], nullptr);
  EXPECT_EQ(document["made_by"]["libtorch"], nullptr);
  EXPECT_EQ(document["made_by"]["simulator"], nullptr);
}

TEST(RunRecord, TheDocumentOfARunThatIsOver) {
  RunRecord record = record_of_two();
  record.finish(summary_of_two());
  const Json document = document_of(record);
  EXPECT_EQ(document["state"], "done");
  EXPECT_EQ(document["name"], "a <b> \"c\"");
  EXPECT_EQ(document["time_to_target"], 8);
  EXPECT_EQ(document["bytes_sent"], 15);
  EXPECT_EQ(document["method"]["jumps"], 3);
  EXPECT_EQ(document["behind"]["counts"], Json::parse("[5, 1]"));
  EXPECT_EQ(document["behind"]["farthest"], 9);
  EXPECT_EQ(document["decisions"][0]["who"], "coordinator");
  EXPECT_EQ(document["decisions"][0]["reason"], "far \"behind\"");
  EXPECT_EQ(document["decisions"][1]["who"], "server 0");
  EXPECT_EQ(document["decisions"][1]["reason"], "too far ahead");
  const Json& worker = document["per_worker"][0];
  const std::size_t bins = document["bins"]["count"];
  for (const char* row : {"compute", "communicate", "wait", "shares"}) {
    EXPECT_EQ(worker[row].size(), bins) << row;
  }
  EXPECT_EQ(document["throughput"].size(), bins);
  EXPECT_EQ(worker["doing"], "done");
  EXPECT_EQ(worker["shares"][0], 5);
  EXPECT_EQ(one_line(document).find('\n'), std::string::npos);
}

TEST(RunRecord, ARunThatFailedSaysWhy) {
  RunRecord record = record_of_two();
  record.fail("worker 1 (pid 3) was killed");
  for (const RunRecord::Worker& worker : record.workers()) {
    const WorkerFigures& latest = worker.latest;
    EXPECT_NEAR(latest.compute + latest.communicate + latest.wait, record.seconds(), 1e-9);
  }
  const Json document = document_of(record);
  EXPECT_EQ(document["state"], "failed");
  EXPECT_EQ(document["why"], "worker 1 (pid 3) was killed");
}

TEST(RunRecord, NamesThatAreNotUtf8AreHandled) {
  RunFacts facts = facts_of(1);
  facts.name = "\xff\xfe";
  const RunRecord record(facts);
  EXPECT_TRUE(Json::accept(one_line(document_of(record))));
}

TEST(Trace, HoldsSpansArrowsAndDecisions) {
  RunRecord record = record_of_two();
  record.finish(summary_of_two());
  const Json trace = Json::parse(trace_of(record));
  int spans = 0;
  int begins = 0;
  int ends = 0;
  std::vector<Json> decisions;
  for (const Json& event : trace["traceEvents"]) {
    const std::string phase = event["ph"];
    spans += phase == "X" ? 1 : 0;
    begins += phase == "s" ? 1 : 0;
    ends += phase == "f" ? 1 : 0;
    if (phase == "i") {
      decisions.push_back(event);
    }
    if (phase == "f") {
      EXPECT_EQ(event["pid"], 3);  // worker 1 received this from worker 0
      EXPECT_EQ(event["bp"], "e");
    }
  }
  EXPECT_EQ(spans, 12 + 9 + 1 + 1);  // two workers, the wait for the end, an evaluation
  EXPECT_EQ(begins, 3);
  EXPECT_EQ(ends, 3);
  ASSERT_EQ(decisions.size(), 2U);
  EXPECT_EQ(decisions[0]["args"]["reason"], "far \"behind\"");
  EXPECT_EQ(decisions[0]["ts"], 3e6);
  EXPECT_EQ(decisions[1]["pid"], 4);  // server 0
}

// For any length of run.
TEST(RunRecord, IsBounded) {
  RunRecord record(facts_of(4));
  for (std::int64_t step = 0; step < 20'000; ++step) {
    record.add(static_cast<Rank>(step % 4), step_news(step));
    WorkerNews decided;
    decided.entries.decisions = {
        {static_cast<Seconds>(step), "group", "workers 0 1", "first come"}};
    record.add(kCoordinator, decided);
  }
  EXPECT_LT(one_line(document_of(record)).size(), 600'000U);
  EXPECT_LT(trace_of(record).size(), 12'000'000U);
  EXPECT_EQ(document_of(record)["decisions_left_out"], 18'000);
}

// A record that is restored in the middle of a run shows the same at its end.
TEST(RunRecord, GoesOnFromItsState) {
  RunRecord whole(facts_of(2));
  const auto go_on = [](RunRecord& record, std::int64_t from, std::int64_t to) {
    for (std::int64_t step = from; step < to; ++step) {
      const auto now = static_cast<Seconds>(step);
      WorkerNews news = step_news(step);
      news.entries.exchanges = {{now, now + 0.5, 1, 100, 0.25}};
      news.entries.decisions = {{now, "shares", "a \"b\"", "c"}};
      record.add(static_cast<Rank>(step % 2), news);
      record.add(Metric{2 * now, step, 5 * step, 0.5, 0.4, {}});
      record.progress(2 * now, 5 * step, 0.3);
    }
  };
  go_on(whole, 0, 3);
  State state = state_of(whole);
  state.values = nlohmann::json::parse(state.values.dump());
  RunRecord restored(facts_of(2));
  restore(restored, state);
  go_on(whole, 3, 6);
  go_on(restored, 3, 6);
  EXPECT_EQ(document_of(restored), document_of(whole));
  EXPECT_EQ(trace_of(restored), trace_of(whole));
}

// A run may go on with more workers or fewer. Those it had keep their places.
TEST(RunRecord, GoesOnWithOtherWorkers) {
  RunRecord two = record_of_two();
  for (const int workers : {1, 3}) {
    RunRecord restored(facts_of(workers));
    restore(restored, state_of(two));
    const Json document = document_of(restored);
    EXPECT_EQ(document["workers"], workers);
    ASSERT_EQ(document["per_worker"].size(), std::max<std::size_t>(workers, 2));
    EXPECT_EQ(document["per_worker"][1], document_of(two)["per_worker"][1]);
    EXPECT_EQ(document["decisions"], document_of(two)["decisions"]);
  }
}

TEST(RunRecord, WorkersThatAreNotSoundAreRefused) {
  RunRecord record = record_of_two();
  const State sound = state_of(record);
  for (const std::vector<int>& ids : {std::vector{0, 0}, {-1, 0}, {0, kFirstServer}, {0, 1, 2}}) {
    State state = sound;
    state.values["ids"] = ids;
    RunRecord restored(facts_of(2));
    EXPECT_THROW(restore(restored, state), StateError);
  }
}

// What comes after a checkpoint, and is in its record because it came before the checkpoint was
// whole, is as if it had not come.
TEST(RunRecord, WhatCameAfterACheckpointIsTakenBack) {
  RunRecord record = record_of_two();
  RunRecord longer = record_of_two();
  longer.add(Metric{4, 2, 20, 0.5, 0.4, {}});
  record.add(Metric{4, 2, 20, 0.5, 0.4, {}});
  WorkerNews wait;  // worker 1 waited until the run went on
  wait.entries.spans = {{6, 8, 3, 0, Doing::kWait}};
  record.add(1, wait);
  wait.entries.spans = {{6, 9, 3, 0, Doing::kWait}};
  longer.add(1, wait);
  for (std::int64_t step = 5; step < 9; ++step) {
    WorkerNews news = step_news(step);
    news.entries.exchanges = {{news.entries.spans[0].end, news.entries.spans[1].end, 0, 4'000}};
    longer.add(1, news);
    longer.add(0, step_news(step));
    WorkerNews decided;
    decided.entries.decisions = {{11, "jump", "later", "later"}};
    decided.entries.spans = {{11, 12, 6, 0, Doing::kEvaluate}};
    longer.add(kCoordinator, decided);
    longer.progress(static_cast<double>(2 * step + 2), 10 * step, 0.2);
    longer.add(Metric{15, 7, 70, 0.5, 0.4, {}});
  }
  longer.trim(8, 35);
  RunRecord same = record_of_two();
  restore(same, state_of(record));
  same.trim(8, 35);
  EXPECT_EQ(state_of(same), state_of(record));  // there was nothing to take back

  EXPECT_EQ(longer.seconds(), 8);
  EXPECT_EQ(longer.samples(), 35);
  EXPECT_EQ(longer.metrics().size(), 1U);
  EXPECT_EQ(longer.decisions().size(), record.decisions().size());
  EXPECT_EQ(longer.evaluations().size(), record.evaluations().size());
  for (const Rank rank : {0, 1}) {
    const auto index = static_cast<std::size_t>(rank);
    EXPECT_EQ(longer.workers()[index].spans.size(), record.workers()[index].spans.size());
    EXPECT_EQ(longer.workers()[index].exchanges.size(), record.workers()[index].exchanges.size());
    EXPECT_EQ(longer.workers()[index].last_step->end, record.workers()[index].last_step->end);
    for (std::size_t row = 0; row < RunRecord::kRows; ++row) {
      const auto sum = [&](const RunRecord& of) {
        const auto amounts = of.row(rank, static_cast<RunRecord::Row>(row));
        return std::accumulate(amounts.begin(), amounts.end(), 0.0);
      };
      EXPECT_NEAR(sum(longer), sum(record), 1e-9) << rank << " " << row;
    }
  }
}

// The first model of the next term may have no samples that the checkpoint has not.
TEST(RunRecord, AModelThatWasSentAfterACheckpointIsTakenBackWhateverItHasSeen) {
  const auto evaluate = [](RunRecord& record, Seconds sent, Seconds evaluated) {
    WorkerNews news;
    news.entries.spans = {{evaluated, evaluated + 1, 4, 0, Doing::kEvaluate}};
    record.add(kCoordinator, news);
    record.add(Metric{sent, 4, 40, 0.5, 0.4, {}});
  };
  RunRecord record = record_of_two();
  evaluate(record, 7, 10);
  evaluate(record, 9, 12);

  record.trim(8, 40);
  ASSERT_EQ(record.metrics().size(), 1U);
  EXPECT_EQ(record.metrics().back().seconds, 7);
  std::vector<Seconds> evaluated;
  record.evaluations().for_each([&](const Span& span) { evaluated.push_back(span.begin); });
  EXPECT_EQ(evaluated, (std::vector<Seconds>{4, 10}));
}

MemberRecord stay(int id, Seconds joined, std::optional<Seconds> left, const std::string& why) {
  return {{ProcessKind::kWorker, id}, joined, left, why};
}

// Worker 1 is lost at 2 s and comes back at 6 s; worker 5 comes at 4 s. A newcomer counts the time
// before it came as waiting.
RunRecord record_with_newcomers() {
  RunRecord record(facts_of(2));
  record.set_members({stay(0, 0, {}, ""), stay(1, 0, {}, "")});
  record.add(TermRecord{0, 0, TermCause::kStart, ""});
  record.add(0, step_news(0));
  record.add(1, step_news(0));
  record.set_members({stay(0, 0, {}, ""), stay(1, 0, 2, "was \"lost\"")});
  record.add(TermRecord{1, 2, TermCause::kLoss, "goes on without worker 1"});
  const std::vector<MemberRecord> later = {stay(0, 0, {}, ""), stay(1, 0, 2, "was \"lost\""),
                                           stay(5, 4, {}, "joined"), stay(1, 6, {}, "joined")};
  record.set_members({later.begin(), later.end() - 1});
  record.add(TermRecord{2, 4, TermCause::kNewcomer, "worker 5 joins"});
  WorkerNews late;
  late.figures = {.compute = 1, .communicate = 0.5, .wait = 4.5, .samples = 5, .steps = 1};
  late.figures.share = 5;
  late.entries.spans = {{3.5, 4.5, 0, 0, Doing::kWait},
                        {4.5, 5.5, 0, 5, Doing::kCompute},
                        {5.5, 6, 0, 0, Doing::kCommunicate}};
  late.entries.exchanges = {{5.5, 6, 0, 4'000, 0.5}, {5, 6, 5, 4'000, 0.5}};
  record.add(5, late);
  record.set_members(later);
  late.figures.wait = 6.5;
  late.entries.spans = {{6.5, 7.5, 0, 5, Doing::kCompute}, {7.5, 8, 0, 0, Doing::kWait}};
  late.entries.exchanges = {{1, 7, 5, 4'000, 0.5}, {6.6, 7, 5, 4'000, 0.5}, {6, 7, 9, 1, 0.5}};
  record.add(1, late);
  record.progress(8, 20, 0.25);
  return record;
}

TEST(RunRecord, EverybodyWhoEverTookPartHasARow) {
  const RunRecord record = record_with_newcomers();
  const Json document = document_of(record);
  EXPECT_EQ(document["workers"], 2);
  ASSERT_EQ(document["per_worker"].size(), 3U);
  const Json& newcomer = document["per_worker"][2];
  EXPECT_EQ(newcomer["rank"], 5);
  EXPECT_EQ(newcomer["wait_seconds"], 0.5);  // since it came
  const std::size_t came = static_cast<std::size_t>(4 / record.bin_width());
  for (std::size_t bin = 0; bin < came; ++bin) {
    EXPECT_EQ(newcomer["wait"][bin], 0) << bin;
  }
  EXPECT_GT(newcomer["wait"][came], 0);
  const Json& other = document["per_worker"][1];
  EXPECT_EQ(other["steps"], 2);  // one in each of its stays
  EXPECT_EQ(other["samples"], 10);
  const auto there = record.row(1, RunRecord::kCompute);
  EXPECT_NEAR(std::accumulate(there.begin(), there.end(), 0.0), 2, 1e-9);
}

TEST(RunRecord, MembersAndTermsAreInTheDocument) {
  RunRecord record = record_with_newcomers();
  const Json going = document_of(record);
  EXPECT_EQ(going["members"][1],
            Json::parse(R"({"worker": 1, "joined": 0, "left": 2, "why": "was \"lost\""})"));
  EXPECT_EQ(going["members"][2]["left"], nullptr);
  EXPECT_EQ(going["terms"].size(), 3U);
  EXPECT_EQ(going["terms"][1], Json::parse(R"({"number": 1, "seconds": 2, "cause": "loss",
                                               "reason": "goes on without worker 1"})"));
  std::vector<MemberRecord> members = record.members();
  members[2].left = 8;
  record.set_members(members);
  EXPECT_EQ(document_of(record)["per_worker"][2]["doing"], "absent");
  EXPECT_EQ(document_of(record)["per_worker"][1]["doing"], "done");
  EXPECT_EQ(record.workers_there(), 2);
  ASSERT_EQ(record.paces().size(), 2U);
  EXPECT_EQ(record.paces()[1].rank, 1);
}

TEST(RunRecord, WhoIsGoneDoesNotWaitForTheEnd) {
  RunRecord record = record_with_newcomers();
  std::vector<MemberRecord> members = record.members();
  members.back().left = 8;
  members.back().why = "left";
  record.set_members(members);
  record.progress(12, 40, {});
  record.fail("the rest of it");
  const auto seconds = [&](int id) {
    const WorkerFigures& latest = record.worker(id).latest;
    return latest.compute + latest.communicate + latest.wait;
  };
  EXPECT_NEAR(seconds(0), 12, 1e-9);
  EXPECT_NEAR(seconds(1), 2 + 1.5, 1e-9);
  EXPECT_NEAR(seconds(5), 12 - 4, 1e-9);
}

TEST(RunRecord, MembersAndTermsGoOnFromTheirState) {
  RunRecord record = record_with_newcomers();
  RunRecord restored(facts_of(2));
  restore(restored, state_of(record));
  EXPECT_EQ(document_of(restored), document_of(record));
  EXPECT_EQ(trace_of(restored), trace_of(record));
  restored.trim(4, 10);
  EXPECT_EQ(restored.terms().size(), 2U);  // the third one began there
  EXPECT_EQ(restored.members().size(), 3U);
  EXPECT_EQ(restored.workers_there(), 2);
}

TEST(Trace, HasTermsAndMembersAndRowsOfNewcomers) {
  const Json trace = Json::parse(trace_of(record_with_newcomers()));
  std::map<std::string, int> processes;
  std::vector<std::string> marks;
  int arrows = 0;
  for (const Json& event : trace["traceEvents"]) {
    arrows += event["ph"] == "s" ? 1 : 0;
    if (event["name"] == "process_name") {
      processes[event["args"]["name"]] = event["pid"];
    } else if (event["ph"] == "i") {
      marks.push_back(fmt::format("{} {} {} {}", event["ts"].get<double>() / 1e6,
                                  event["pid"].dump(), event["name"].get<std::string>(),
                                  event["args"].dump()));
    }
  }
  EXPECT_EQ(processes["worker 5"], 7);
  EXPECT_EQ(marks[1], R"(2 1 term 1: loss {"cause":"loss","reason":"goes on without worker 1"})");
  EXPECT_NE(std::ranges::find(marks, R"(2 3 goes {"why":"was \"lost\""})"), marks.end());
  EXPECT_NE(std::ranges::find(marks, R"(4 7 joins {"why":"joined"})"), marks.end());
  EXPECT_EQ(arrows, 3);  // none from where a worker was absent, or from nobody
}

// Also if the workers are many, and come and go often.
TEST(RunRecord, IsBoundedHoweverManyComeAndGo) {
  RunRecord record(facts_of(4));
  std::vector<MemberRecord> members;
  for (int id = 0; id < 1'000; ++id) {
    for (int round = 0; round < 20; ++round) {
      members.push_back(stay(id, round, round + 0.5, "was lost"));
      record.add(TermRecord{20 * id + round, 1e-3 * id, TermCause::kLoss, "goes on without"});
    }
    members.push_back(stay(id, 20, {}, "joined"));
  }
  record.set_members(members);
  for (int id = 0; id < 1'000; ++id) {
    for (std::int64_t step = 10; step < 130; ++step) {
      record.add(id, step_news(step));
    }
  }
  const Json document = document_of(record);
  EXPECT_EQ(document["per_worker"].size(), 1'000U);
  EXPECT_EQ(document["members"].size(), 10'000U);
  EXPECT_EQ(document["members_left_out"], 11'000);
  EXPECT_EQ(document["terms"].size(), 2'000U);
  EXPECT_EQ(document["terms_left_out"], 18'000);
  EXPECT_LE(record.bins(), 64U);
  EXPECT_LT(one_line(document).size(), 5'000'000U);
  EXPECT_LT(trace_of(record).size(), 60'000'000U);
}

}  // namespace
}  // namespace motley
