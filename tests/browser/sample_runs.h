// Documents of invented runs, for tests of the page: a cluster in which every fourth worker is four
// times as slow, with common steps. Numbers have all their digits, as real ones do.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/random.h"

namespace motley {

struct SampleRun {
  std::string name = "fashion";
  std::string sync = "all_reduce";
  std::string allocation = "adaptive";
  int workers = 4;
  int bins = 246;
  double width = 0.05;    // seconds of a bin
  bool evaluated = true;  // otherwise a phantom: no metrics
  bool behind = false;    // workers go at their own pace
  bool elastic = false;   // worker 1 is lost and comes back, and worker 9 joins
  double finished = 1;    // the share of the run that is over; 1: it is done
  std::uint64_t seed = 1;
};

namespace sample {

using Json = nlohmann::ordered_json;

constexpr double kBatchPerWorker = 64;

inline double speed_of(int rank) { return rank % 4 == 3 ? 500 : 2000; }  // samples per second

// Samples of a step for `rank`. Adaptive allocation finds the speeds in the first fifth of a run.
inline double share_of(const SampleRun& run, int rank, double progress) {
  if (run.allocation != "adaptive") {
    return kBatchPerWorker;
  }
  // One of four neighbours is slow.
  const double fair = kBatchPerWorker * speed_of(rank) / ((3 * speed_of(0) + speed_of(3)) / 4);
  const double found = std::clamp(std::floor(progress * 25) / 5, 0.0, 1.0);
  return kBatchPerWorker + found * (fair - kBatchPerWorker);
}

inline double step_seconds(const SampleRun& run, double progress) {
  double longest = 0;
  for (int rank = 0; rank < std::min(run.workers, 4); ++rank) {
    longest = std::max(longest, share_of(run, rank, progress) / speed_of(rank));
  }
  return 1.08 * longest + 0.004;
}

// Of an elastic run: in parts of the run.
constexpr double kLost = 0.3;
constexpr double kBack = 0.5;
constexpr double kNewcomer = 0.65;
constexpr int kNewcomersId = 9;

// Nothing is known of the time when a worker was absent.
inline bool is_there(const SampleRun& run, int rank, double progress) {
  return !run.elastic || (rank == 1 ? progress < kLost || progress >= kBack
                                    : rank != kNewcomersId || progress >= kNewcomer);
}

inline Json members(const SampleRun& run) {
  Json list = Json::array();
  const double whole = run.bins * run.width;
  const auto add = [&](int id, double joined, Json left, const char* why) {
    if (joined * whole <= run.finished * whole) {
      list.push_back({{"worker", id}, {"joined", joined * whole}, {"left", left}, {"why", why}});
    }
  };
  for (int rank = 0; rank < run.workers; ++rank) {
    const bool is_lost = run.elastic && rank == 1 && run.finished > kLost;
    add(rank, 0, is_lost ? Json(kLost * whole) : Json(), is_lost ? "was killed by SIGKILL" : "");
  }
  if (run.elastic) {
    add(1, kBack, {}, "joined");
    add(kNewcomersId, kNewcomer, {}, "joined");
  }
  return list;
}

inline Json terms(const SampleRun& run) {
  Json list = Json::array();
  const auto add = [&](double progress, const char* cause, const char* reason) {
    if (progress <= run.finished) {
      list.push_back({{"number", list.size()},
                      {"seconds", progress * run.bins * run.width + 1e-5},
                      {"cause", cause},
                      {"reason", reason}});
    }
  };
  add(0, "start", "");
  if (run.elastic) {
    add(kLost, "loss", "goes on without worker 1: step 17 is done again");
    add(0.4, "checkpoint", "");
    add(kBack, "newcomer", "worker 1 joins");
    add(kNewcomer, "newcomer", "worker 9 joins");
  }
  return list;
}

inline Json worker(const SampleRun& run, int rank, int bins) {
  Random random(run.seed, static_cast<std::uint64_t>(rank) + 10);
  Json compute = Json::array(), communicate = Json::array(), wait = Json::array(),
       shares = Json::array();
  double seconds[3] = {0, 0, 0};
  double samples = 0, steps = 0;
  for (int bin = 0; bin < bins; ++bin) {
    const double progress = static_cast<double>(bin) / run.bins;
    if (!is_there(run, rank, progress)) {
      compute.push_back(0);
      communicate.push_back(0);
      wait.push_back(0);
      shares.push_back({});
      continue;
    }
    const double share = share_of(run, rank, progress);
    const double step = step_seconds(run, progress);
    const double busy = share / speed_of(rank) / step * (1 + 0.03 * random.normal());
    const double computes = run.width * std::clamp(busy, 0.0, 0.97);
    const double sends = std::min(run.width - computes, run.width * 0.004 / step);
    compute.push_back(computes);
    communicate.push_back(sends);
    wait.push_back(run.width - computes - sends);
    shares.push_back(bin % 17 == 11 ? Json() : Json(share));
    seconds[0] += computes;
    seconds[1] += sends;
    seconds[2] += run.width - computes - sends;
    samples += share * run.width / step;
    steps += run.width / step;
  }
  const bool done = run.finished >= 1;
  return {{"rank", rank},
          {"samples", std::floor(samples)},
          {"steps", std::floor(steps)},
          {"share", share_of(run, rank, 1)},
          {"doing", done ? "done" : "compute"},
          {"samples_per_second", speed_of(rank) * (1 + 0.01 * random.normal())},
          {"compute_seconds", seconds[0]},
          {"communicate_seconds", seconds[1]},
          {"wait_seconds", seconds[2]},
          {"bytes_sent", std::floor(steps) * 407080 * 1.5},
          {"compute", compute},
          {"communicate", communicate},
          {"wait", wait},
          {"shares", shares}};
}

inline Json all_workers(const SampleRun& run, int bins) {
  Json workers = Json::array();
  for (int rank = 0; rank < run.workers; ++rank) {
    workers.push_back(worker(run, rank, bins));
  }
  if (run.elastic && run.finished >= kNewcomer) {
    workers.push_back(worker(run, kNewcomersId, bins));
  }
  return workers;
}

inline Json metrics(const SampleRun& run, double seconds, double samples_per_second) {
  Json list = Json::array();
  Random random(run.seed, 3);
  const double whole = run.bins * run.width;
  for (int i = 1; run.evaluated && i <= 24 && i * whole / 24 <= seconds + 1e-9; ++i) {
    const double samples = samples_per_second * i * whole / 24;
    const double learnt = 1 - std::exp(-samples / (2250. * run.workers));
    list.push_back({{"seconds", i * whole / 24},
                    {"step", i * 10},
                    {"samples", std::floor(samples)},
                    {"loss", 2.3 - 1.9 * learnt + 0.01 * random.normal()},
                    {"accuracy", 0.1 + 0.765 * learnt + 0.004 * random.normal()},
                    {"train_loss", 2.3 - 1.95 * learnt + 0.03 * random.normal()}});
  }
  return list;
}

inline Json decisions(const SampleRun& run, double seconds) {
  Json list = Json::array();
  const double whole = run.bins * run.width;
  for (int i = 1; run.allocation == "adaptive" && i <= 20 && i * whole / 25 <= seconds; ++i) {
    const auto at = [&](int rank, int when) { return std::round(share_of(run, rank, when / 25.)); };
    list.push_back(
        {{"seconds", i * whole / 25},
         {"who", "worker 0"},
         {"kind", "shares"},
         {"what", fmt::format("{} {} {} {} -> {} {} {} {}", at(0, i - 1), at(1, i - 1),
                              at(2, i - 1), at(3, i - 1), at(0, i), at(1, i), at(2, i), at(3, i))},
         {"reason", "worker 3 takes 4.0x as long for a sample as worker 0"}});
  }
  return list;
}

inline Json time_to_target(const Json& metrics) {
  for (const Json& metric : metrics) {
    if (metric["accuracy"] >= 0.75) {
      return metric["seconds"];
    }
  }
  return {};
}

inline Json straggler(const SampleRun& run) {
  if (run.workers < 4) {
    return {};
  }
  return {{"rank", 3}, {"reason", "worker 3 takes 4.0x as long for a sample as the median"}};
}

inline Json behind(const SampleRun& run) {
  if (!run.behind) {
    return {};
  }
  return {{"what", "iterations behind the fastest worker, when a step began"},
          {"counts", {900, 240, 61, 12, 0, 3}},
          {"farthest", 17}};
}

}  // namespace sample

inline nlohmann::ordered_json sample_run(const SampleRun& run) {
  using sample::Json;
  const int bins = std::max(1, static_cast<int>(run.finished * run.bins));
  const double seconds = bins * run.width;
  const Json workers = sample::all_workers(run, bins);
  Json throughput = Json::array();
  Random random(run.seed, 2);
  double samples = 0, ideal = 0, bytes = 0;
  for (const Json& worker : workers) {
    bytes += worker["bytes_sent"].get<double>();
    ideal += sample::speed_of(worker["rank"]);
  }
  for (int bin = 0; bin < bins; ++bin) {
    const double step = sample::step_seconds(run, static_cast<double>(bin) / run.bins);
    const double rate = sample::kBatchPerWorker * run.workers / step;
    throughput.push_back(rate * (1 + 0.08 * random.normal()));
    samples += rate * run.width;
  }
  const Json metrics = sample::metrics(run, seconds, samples / seconds);
  const bool done = run.finished >= 1;
  return {
      {"version", 1},
      {"made_by", {{"motley", "0.1.0"}, {"libtorch", "1.13.1"}, {"simulator", 2}}},
      {"name", run.name},
      {"mode", run.evaluated ? "train" : "simulate"},
      {"seed", run.seed},
      {"strategy", {{"sync", run.sync}, {"allocation", run.allocation}, {"codec", "none"}}},
      {"job", fmt::format("name = \"{}\"\n\n[model]\nname = \"cnn\"\n\n[strategy]\nsync = \"{}\"\n",
                          run.name, run.sync)},
      {"state", done ? "done" : "running"},
      {"why", ""},
      {"workers", run.workers},
      {"servers", 0},
      {"batch", sample::kBatchPerWorker * run.workers},
      {"seconds", seconds},
      {"samples", std::floor(samples)},
      {"limit", std::floor(samples / run.finished)},
      {"eta_seconds", done ? Json() : Json(seconds / run.finished - seconds)},
      {"samples_per_second", samples / seconds},
      {"ideal_samples_per_second", ideal},
      {"train_loss", run.evaluated ? Json(0.41) : Json()},
      {"target_accuracy", run.evaluated ? Json(0.75) : Json()},
      {"time_to_target", sample::time_to_target(metrics)},
      {"bytes_sent", bytes},
      {"straggler", sample::straggler(run)},
      {"metrics", metrics},
      {"bins", {{"width", run.width}, {"count", bins}}},
      {"throughput", throughput},
      {"per_worker", workers},
      {"members", sample::members(run)},
      {"members_left_out", 0},
      {"terms", sample::terms(run)},
      {"terms_left_out", 0},
      {"behind", sample::behind(run)},
      {"decisions", sample::decisions(run, seconds)},
      {"decisions_left_out", 0},
      {"method",
       run.behind ? Json{{"groups", 1216}, {"mean_staleness", 0.4}, {"jumps", {0, 1, 7}}} : Json()},
  };
}

// What a run leaves that failed before it began: a name and the reason.
inline nlohmann::ordered_json failed_run(const std::string& name) {
  return {{"version", 1},
          {"name", name},
          {"strategy", {{"sync", "ps_asp"}, {"allocation", "equal"}, {"codec", "none"}}},
          {"state", "failed"},
          {"why", "worker 2 (pid 71) was killed by SIGKILL"}};
}

constexpr const char* kHostile =
    "</script><img src=x onerror=alert(1)><!--<script>&lt;'\"\\u003c\xe2\x80\xa8{{runs}}";

// Every text of the document is hostile.
inline nlohmann::ordered_json hostile_run() {
  const std::string hostile = kHostile;
  nlohmann::ordered_json run = sample_run({.behind = true, .elastic = true});
  run["name"] = hostile;
  run["job"] = hostile + std::string("\xff\xfe");  // not UTF-8 either
  run["mode"] = hostile;
  run["why"] = hostile;
  run["strategy"] = {{"sync", hostile}, {"allocation", hostile}, {"codec", hostile}};
  run["made_by"] = {{"motley", hostile}, {"libtorch", hostile}, {"simulator", hostile}};
  run["straggler"]["reason"] = hostile;
  run["behind"]["what"] = hostile;
  run["method"] = {{hostile, hostile}};
  for (auto& member : run["members"]) {
    member["why"] = hostile;
  }
  for (auto& term : run["terms"]) {
    term["cause"] = term["reason"] = hostile;
  }
  for (auto& decision : run["decisions"]) {
    decision["who"] = decision["kind"] = decision["what"] = decision["reason"] = hostile;
  }
  return run;
}

}  // namespace motley
