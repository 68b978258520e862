#include "record/summary.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace motley {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Summary sample() {
  Summary summary;
  summary.name = "fashion";
  summary.mode = "train";
  summary.seed = 7;
  summary.sync = "all_reduce";
  summary.allocation = "equal";
  summary.codec = "none";
  summary.seconds = 2;
  summary.batch = 256;
  summary.samples = 1000;
  summary.ideal_samples_per_second = 625;
  summary.metrics = {
      {.seconds = 0.5, .step = 1, .samples = 256, .loss = 0.75, .accuracy = 0.5, .train_loss = {}},
      {.seconds = 1, .step = 2, .samples = 512, .loss = 0.5, .accuracy = 0.875, .train_loss = {}},
      {.seconds = 2, .step = 4, .samples = 1000, .loss = 0.25, .accuracy = 0.75, .train_loss = 1.5},
  };
  summary.target_accuracy = 0.85;
  summary.stopped = "target";
  summary.members = {{.process = {ProcessKind::kWorker, 0}},
                     {.process = {ProcessKind::kServer, 1}, .left = 1.5, .why = "was lost"}};
  summary.losses = {.samples_redealt = 3, .samples_repeated = 2, .updates_lost = 1};
  summary.workers = {
      {.rank = 0,
       .samples = 500,
       .steps = 4,
       .compute_seconds = 1,
       .wait_seconds = 0.5,
       .communicate_seconds = 0.25,
       .bytes_sent = 100,
       .share = 192,
       .samples_per_second = 500,
       .overhead_seconds = 0.125,
       .pace_missed = 0.25},
      {.rank = 1,
       .samples = 500,
       .steps = 4,
       .compute_seconds = 1.5,
       .wait_seconds = 0,
       .communicate_seconds = 0.25,
       .bytes_sent = 200,
       .share = 64,
       .samples_per_second = {},
       .overhead_seconds = {},
       .pace_missed = {}},
  };
  summary.shares = {{{0, {128, 128}, "equal shares"}, {2, {192, 64}, "worker 1 took longest"}},
                    "step 3: kept"};
  return summary;
}

constexpr const char* kGolden = R"({
  "version": 1,
  "name": "fashion",
  "mode": "train",
  "seed": 7,
  "workers": 2,
  "strategy": {
    "sync": "all_reduce",
    "allocation": "equal",
    "codec": "none"
  },
  "seconds": 2.0,
  "steps": 4,
  "samples": 1000,
  "samples_per_second": 500.0,
  "ideal_samples_per_second": 625.0,
  "efficiency": 0.8,
  "final_loss": 0.25,
  "final_accuracy": 0.75,
  "best_accuracy": 0.875,
  "target_accuracy": 0.85,
  "time_to_target": 1.0,
  "bytes_sent": 300,
  "max_iteration_gap": 0,
  "terms": 1,
  "members": [
    {
      "worker": 0,
      "joined": 0.0,
      "left": null,
      "why": ""
    },
    {
      "server": 1,
      "joined": 0.0,
      "left": 1.5,
      "why": "was lost"
    }
  ],
  "samples_redealt": 3,
  "samples_repeated": 2,
  "updates_lost": 1,
  "checkpoints": 0,
  "resumed_from": null,
  "stopped": "target",
  "per_worker": [
    {
      "rank": 0,
      "samples": 500,
      "steps": 4,
      "compute_seconds": 1.0,
      "wait_seconds": 0.5,
      "communicate_seconds": 0.25,
      "bytes_sent": 100,
      "pace_missed": 0.25
    },
    {
      "rank": 1,
      "samples": 500,
      "steps": 4,
      "compute_seconds": 1.5,
      "wait_seconds": 0.0,
      "communicate_seconds": 0.25,
      "bytes_sent": 200
    }
  ],
  "allocation": {
    "history": [
      {
        "step": 0,
        "shares": [
          128,
          128
        ],
        "reason": "equal shares"
      },
      {
        "step": 2,
        "shares": [
          192,
          64
        ],
        "reason": "worker 1 took longest"
      }
    ],
    "last_look": "step 3: kept",
    "per_worker": [
      {
        "rank": 0,
        "share": 192,
        "samples_per_second": 500.0,
        "overhead_seconds": 0.125
      },
      {
        "rank": 1,
        "share": 64,
        "samples_per_second": null,
        "overhead_seconds": null
      }
    ]
  }
})";

TEST(Summary, HasTheKeysOfTheContractInOrder) { EXPECT_EQ(to_json(sample()).dump(2), kGolden); }

TEST(Summary, WhatIsNotKnownIsNull) {
  Summary summary = sample();
  summary.seconds = 0;
  summary.ideal_samples_per_second = 0;
  summary.metrics.clear();
  summary.target_accuracy.reset();
  summary.stopped.reset();
  const auto json = to_json(summary);
  EXPECT_EQ(json["samples_per_second"], 0.0);
  for (const char* key : {"ideal_samples_per_second", "efficiency", "final_loss", "final_accuracy",
                          "best_accuracy", "target_accuracy", "time_to_target"}) {
    EXPECT_TRUE(json.at(key).is_null()) << key;
  }
  EXPECT_FALSE(json.contains("stopped"));
}

TEST(Summary, OnlyASimulationHasEvents) {
  Summary summary = sample();
  EXPECT_FALSE(to_json(summary).contains("simulated_events"));
  summary.simulated_events = 12;
  EXPECT_EQ(to_json(summary)["simulated_events"], 12);
  EXPECT_FALSE(to_json(summary).contains("simulator"));
  summary.simulator = 2;
  EXPECT_EQ(to_json(summary)["simulator"], 2);
}

TEST(Summary, TimeToTargetIsNullWhenNotReached) {
  Summary summary = sample();
  summary.target_accuracy = 0.99;
  EXPECT_TRUE(to_json(summary)["time_to_target"].is_null());
}

TEST(Summary, NumbersThatJsonDoesNotHaveAreNull) {
  Summary summary = sample();
  summary.metrics.back().loss = kNaN;
  summary.metrics.front().accuracy = kNaN;
  summary.workers[0].wait_seconds = std::numeric_limits<double>::infinity();
  const auto json = to_json(summary);
  EXPECT_TRUE(json["final_loss"].is_null());
  EXPECT_EQ(json["best_accuracy"], 0.875);
  EXPECT_TRUE(json["per_worker"][0]["wait_seconds"].is_null());
}

TEST(Summary, AnEvaluationHasTheNumbersOfTheProgram) {
  Metric metric = sample().metrics.front();
  EXPECT_FALSE(to_json(metric).contains("metrics"));
  metric.named = {{"perplexity", 20}, {"bleu", kNaN}};
  const auto json = to_json(metric);
  EXPECT_EQ(json["metrics"]["perplexity"], 20);
  EXPECT_TRUE(json["metrics"]["bleu"].is_null());
}

TEST(Summary, AMethodsFiguresStandUnderItsName) {
  Summary summary = sample();
  summary.sync = "partial_reduce";
  summary.method = {{"groups", std::int64_t{12}},
                    {"mean_group_size", 2.5},
                    {"mean_staleness", kNaN},
                    {"longest_window", {}}};
  EXPECT_EQ(to_json(summary)["partial_reduce"].dump(),
            R"({"groups":12,"mean_group_size":2.5,"mean_staleness":null,"longest_window":null})");
}

TEST(Metric, IsOneLineOfMetrics) {
  const Summary summary = sample();
  EXPECT_EQ(to_json(summary.metrics[0]).dump(),
            R"({"seconds":0.5,"step":1,"samples":256,"loss":0.75,"accuracy":0.5})");
  EXPECT_EQ(
      to_json(summary.metrics[2]).dump(),
      R"({"seconds":2.0,"step":4,"samples":1000,"loss":0.25,"accuracy":0.75,"train_loss":1.5})");
}

}  // namespace
}  // namespace motley
