// Runs of one job's variants side by side: a table for a person, compare.json for a program.
//
// Both are made of the runs' own summaries, so that every figure in them is in a summary.json too.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "motley/base/ids.h"

namespace motley {

// What is compared of a run. What it does not know of itself is not there.
struct ComparedRun {
  std::string name;
  std::optional<Seconds> seconds;
  std::optional<double> samples_per_second;
  std::optional<double> efficiency;  // of what the workers could do
  std::optional<double> target;      // the accuracy that it was to reach
  std::optional<Seconds> time_to_target;
  std::optional<double> accuracy;
  std::optional<double> bytes;         // sent by the workers
  std::optional<double> wait_share;    // part of the workers' time
  double pace_missed = 0;              // part of the steps of the worker that missed most
  std::optional<double> speedup;       // over the first run that counts
  std::optional<std::string> trouble;  // why it does not count: failed, stopped, not run
};

// Reads a summary as to_json() writes it. A run that was stopped before its end does not count.
ComparedRun compared_run(const nlohmann::ordered_json& summary);

class Comparison {
 public:
  // In the order of the job file. Speed is the time to the target where there is one, else samples
  // per second; the first run that has a speed is what the others are compared with.
  explicit Comparison(std::vector<ComparedRun> runs);

  const std::vector<ComparedRun>& runs() const { return runs_; }

  // One row per run; the best figure of every column has a * (columns where all are alike have
  // none), and the last line says which run is best.
  std::string table() const;

 private:
  std::string last_line() const;

  std::vector<ComparedRun> runs_;
  std::optional<std::string> target_;  // in words, when a run has one
};

}  // namespace motley
