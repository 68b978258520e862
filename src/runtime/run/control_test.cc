#include "runtime/run/control.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/random.h"

namespace motley {
namespace {

SnapshotInfo snapshot() { return {{1.5, 640, true, {3, 4}, {}}, {{1.0F, -2.0F, 3.5F}, {0.125F}}}; }

StartInfo start() {
  StartInfo info;
  info.job = "name = \"x\"\n";
  info.heartbeat = 0.4;
  info.is_server = true;
  return info;
}

NextTermInfo next_term() {
  NextTermInfo term;
  term.term = {.number = 7, .begin = 640, .end = 1'280, .owed = {{3, 4}}};
  term.save = 5;
  term.has_state = true;
  term.members = {{{4, 2, {"127.0.0.1", 4711, "motley-a"}}}, {{9, 0, {"10.0.0.2", 80, ""}}}};
  term.gone = {1, 2};
  term.reconnect = {3};
  return term;
}

TEST(Control, AnEvaluationComesBack) {
  const EvaluatedInfo told{640, {0.5, 0.25, {{"bleu", 3}, {"", 4}}}};
  const auto info = decode<EvaluatedInfo>(encode(told));
  ASSERT_TRUE(info);
  EXPECT_EQ(info->samples, 640);
  EXPECT_EQ(info->evaluation.loss, 0.5);
  EXPECT_EQ(info->evaluation.accuracy, 0.25);
  EXPECT_EQ(info->evaluation.metrics, told.evaluation.metrics);
}

TEST(Control, WhatIsEncodedComesBack) {
  const auto started = decode<StartInfo>(encode(start()));
  ASSERT_TRUE(started);
  EXPECT_EQ(started->job, start().job);
  EXPECT_EQ(started->heartbeat, 0.4);
  EXPECT_TRUE(started->is_server);

  const auto model = decode<SnapshotInfo>(encode(snapshot()));
  ASSERT_TRUE(model);
  EXPECT_EQ(model->note.seconds, 1.5);
  EXPECT_EQ(model->note.samples, 640);
  EXPECT_TRUE(model->note.last);
  EXPECT_EQ(model->note.evaluate.number, 3);
  EXPECT_EQ(model->note.evaluate.parts, 4);
  EXPECT_EQ(model->snapshot.parameters, snapshot().snapshot.parameters);
  EXPECT_EQ(model->snapshot.buffers, snapshot().snapshot.buffers);

  DoneInfo done;
  done.result = {
      100, 10, 7, {9, 5, 3, 1}, {{{7, {{3, 1}, "why"}}}, "look", 3, {0.5, 0.25, 0.125, true}}};
  done.bytes_sent = 12345678901;
  done.figures = {{"none", {}},
                  {"count", std::int64_t{3}},
                  {"share", 0.5},
                  {"counts", std::vector<std::int64_t>{1, 2}},
                  {"shares", std::vector<double>{0.25}},
                  {"reason", "why"}};
  const auto result = decode<DoneInfo>(encode(done));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->result.times.communicate, 3);
  EXPECT_EQ(result->bytes_sent, 12345678901);
  ASSERT_EQ(result->figures.size(), done.figures.size());
  for (std::size_t i = 0; i < done.figures.size(); ++i) {
    EXPECT_EQ(result->figures[i].name, done.figures[i].name);
    EXPECT_EQ(result->figures[i].value, done.figures[i].value);
  }
  const AllocationResult& allocation = result->result.allocation;
  ASSERT_EQ(allocation.history.size(), 1U);
  EXPECT_EQ(allocation.history[0].step, 7);
  EXPECT_EQ(allocation.history[0].decision.shares, (Shares{3, 1}));
  EXPECT_EQ(allocation.history[0].decision.reason, "why");
  EXPECT_EQ(allocation.last_look, "look");
  EXPECT_EQ(allocation.share, 3U);
  EXPECT_TRUE(allocation.cost.fixed_known);
  EXPECT_EQ(allocation.cost.per_sample, 0.25);

  const auto failed = decode<FailedInfo>(encode(FailedInfo{2, "rank 2 has left"}));
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->peer, 2);
  EXPECT_EQ(failed->reason, "rank 2 has left");
}

TEST(Control, TheNextTermComesBack) {
  const auto next = decode<NextTermInfo>(encode(next_term()));
  ASSERT_TRUE(next);
  EXPECT_EQ(next->term.number, 7);
  ASSERT_EQ(next->term.owed.size(), 1U);
  EXPECT_EQ(next->term.owed[0].count, 4);
  EXPECT_EQ(next->save, 5);
  EXPECT_TRUE(next->has_state);
  EXPECT_FALSE(next->is_over);
  ASSERT_EQ(next->members.workers.size(), 1U);
  EXPECT_EQ(next->members.workers[0].process, 4);
  EXPECT_EQ(next->members.workers[0].id, 2);
  EXPECT_EQ(next->members.workers[0].endpoint.local, "motley-a");
  ASSERT_EQ(next->members.servers.size(), 1U);
  EXPECT_EQ(next->members.servers[0].endpoint.port, 80);
  EXPECT_EQ(next->gone, (std::vector<Rank>{1, 2}));
  EXPECT_EQ(next->reconnect, std::vector<Rank>{3});

  const auto lost = decode<LostInfo>(encode(LostInfo{7, 3, "it broke"}));
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->process, 3);
  EXPECT_EQ(lost->why, "it broke");
  EXPECT_EQ(decode<CutOffInfo>(encode(CutOffInfo{7, "gone"}))->term, 7);
  const auto reach = decode<ReachInfo>(encode(ReachInfo{7, 0.5, {{3, 1, {"there", 80}}}}));
  EXPECT_EQ(reach->number, 7);
  EXPECT_EQ(reach->patience, 0.5);
  EXPECT_EQ(reach->others.at(0).endpoint.host, "there");
  EXPECT_FALSE(decode<ReachInfo>(encode(ReachInfo{7, 1e7, {}}))) << "no plausible patience";
  EXPECT_EQ(decode<ReachedInfo>(encode(ReachedInfo{7, {3}}))->unreached, std::vector<Rank>{3});
  SettledInfo settled{.term = 7, .survivor = {}, .bytes_sent = 9, .goes_on = true};
  settled.survivor.settled.served = 3;
  settled.survivor.iterations = 4;
  const auto told = decode<SettledInfo>(encode(settled));
  ASSERT_TRUE(told);
  EXPECT_EQ(told->survivor.settled.served, 3);
  EXPECT_EQ(told->survivor.settled.unshared, std::nullopt);
  EXPECT_EQ(told->survivor.iterations, 4);
  EXPECT_TRUE(told->goes_on);
  settled.survivor.iterations = -1;
  EXPECT_FALSE(decode<SettledInfo>(encode(settled)));
}

ProgressInfo progress() {
  ProgressInfo info;
  info.seconds = 1.5;
  info.progress.samples = 640;
  info.loss = {2.5, 10};
  info.activity = {Doing::kWait, 2};
  info.news.figures.share = 7;
  info.news.entries.spans = {{0.5, 1, 3, 7, Doing::kCompute}, {1, 1.5, 3, 0, Doing::kWait}};
  info.news.entries.exchanges = {{0.25, 0.5, 1, 4'000}};
  info.news.entries.decisions = {{1, "shares", "1 -> 2", "why"}};
  return info;
}

TEST(Control, AJournalComesBack) {
  const auto told = decode<ProgressInfo>(encode(progress()));
  ASSERT_TRUE(told);
  EXPECT_EQ(told->activity.waits_for, 2);
  EXPECT_EQ(told->loss.mean(), 0.25);
  EXPECT_EQ(told->news.figures.share, 7U);
  EXPECT_EQ(told->news.entries.spans, progress().news.entries.spans);
  EXPECT_EQ(told->news.entries.exchanges, progress().news.entries.exchanges);
  EXPECT_EQ(told->news.entries.decisions, progress().news.entries.decisions);
}

TEST(Control, ImplausibleSpansAreRefused) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinite = std::numeric_limits<double>::infinity();
  for (const Span& span :
       {Span{2, 1, 0, 0, Doing::kWait}, Span{-1, 1, 0, 0, Doing::kWait},
        Span{0, nan, 0, 0, Doing::kWait}, Span{0, infinite, 0, 0, Doing::kWait},
        Span{0, 1, 0, -5, Doing::kWait}, Span{0, 1, 0, 0, static_cast<Doing>(77)}}) {
    ProgressInfo info = progress();
    info.news.entries.spans.push_back(span);
    EXPECT_FALSE(decode<ProgressInfo>(encode(info))) << span.begin << " " << span.end;
  }
}

TEST(Control, AMicroBatchOfNothingIsRefused) {
  DoneInfo done;
  EXPECT_TRUE(decode<DoneInfo>(encode(done)));
  done.result.allocation.cost.micro_batch = 0;
  EXPECT_FALSE(decode<DoneInfo>(encode(done)));
}

TEST(Control, OtherImplausibleValuesAreRefused) {
  const double infinite = std::numeric_limits<double>::infinity();
  const auto refused = [](auto change) {
    ProgressInfo info = progress();
    change(info);
    return !decode<ProgressInfo>(encode(info));
  };
  EXPECT_FALSE(refused([](ProgressInfo&) {}));
  EXPECT_TRUE(refused([&](ProgressInfo& info) { info.seconds = infinite; }));
  EXPECT_TRUE(refused([](ProgressInfo& info) { info.progress.samples = INT64_MAX; }));
  EXPECT_TRUE(refused([](ProgressInfo& info) { info.news.figures.steps = -1; }));
  EXPECT_TRUE(refused([](ProgressInfo& info) { info.news.figures.wait = -1; }));
  EXPECT_TRUE(refused([](ProgressInfo& info) { info.news.entries.exchanges[0].from = -3; }));
  EXPECT_TRUE(refused([&](ProgressInfo& info) { info.news.entries.exchanges[0].sent = infinite; }));
  EXPECT_TRUE(refused([&](ProgressInfo& info) { info.news.entries.decisions[0].at = infinite; }));
  EXPECT_TRUE(refused([](ProgressInfo& info) { info.activity.doing = static_cast<Doing>(9); }));
}

Payload mutated(const Payload& payload, Random& random) {
  std::vector<std::byte> bytes(payload.bytes().begin(), payload.bytes().end());
  switch (random.below(3)) {
    case 0:
      bytes.resize(random.below(bytes.size() + 1));
      break;
    case 1:
      bytes.resize(bytes.size() + 1 + random.below(20), static_cast<std::byte>(random.below(256)));
      break;
    default:
      bytes[random.below(bytes.size())] = static_cast<std::byte>(random.below(256));
  }
  return Payload::copy_of(std::span(bytes));
}

// Decoding never crashes, and never allocates more memory than there are bytes.
TEST(Control, DamagedMessagesAreRefusedOrRead) {
  Random random(3);
  int refused = 0;
  for (int round = 0; round < 5'000; ++round) {
    refused += decode<StartInfo>(mutated(encode(start()), random)) ? 0 : 1;
    refused += decode<SnapshotInfo>(mutated(encode(snapshot()), random)) ? 0 : 1;
    refused += decode<DoneInfo>(mutated(encode(DoneInfo{}), random)) ? 0 : 1;
    refused += decode<ProgressInfo>(mutated(encode(progress()), random)) ? 0 : 1;
    refused += decode<FailedInfo>(mutated(encode(FailedInfo{1, "why"}), random)) ? 0 : 1;
    refused += decode<NextTermInfo>(mutated(encode(next_term()), random)) ? 0 : 1;
    refused += decode<LostInfo>(mutated(encode(LostInfo{7, 3, "why"}), random)) ? 0 : 1;
    refused += decode<SettledInfo>(mutated(encode(SettledInfo{}), random)) ? 0 : 1;
    refused += decode<CutOffInfo>(mutated(encode(CutOffInfo{7, "why"}), random)) ? 0 : 1;
    refused += decode<ReachInfo>(mutated(encode(ReachInfo{7, 1, {{3, 1, {"there", 80}}}}), random))
                   ? 0
                   : 1;
    refused += decode<ReachedInfo>(mutated(encode(ReachedInfo{7, {3, 4}}), random)) ? 0 : 1;
  }
  EXPECT_GT(refused, 16'000);  // at least all truncated and all extended messages
}

}  // namespace
}  // namespace motley
