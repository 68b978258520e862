// Comparison: the runs of a job's variants side by side, as a table for people and compare.json for
// programs.
//
// Both are made from the runs' summaries, so every figure is also in a summary.json.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "motley/base/ids.h"

namespace motley {

// The figures of a run that are compared. Unknown ones are empty.
struct ComparedRun {
  std::string name;
  std::optional<Seconds> seconds;
  std::optional<double> samples_per_second;
  std::optional<double> efficiency;  // relative to the combined speed of the workers
  std::optional<double> target;      // the accuracy to reach
  std::optional<Seconds> time_to_target;
  std::optional<double> accuracy;
  std::optional<double> bytes;         // sent by all workers
  std::optional<double> wait_share;    // share of the workers' time
  double pace_missed = 0;              // share of steps, for the worker that missed most
  std::optional<double> speedup;       // relative to the first run that counts
  std::optional<std::string> trouble;  // why it does not count: failed, stopped, not run
};

// Reads a summary as written by to_json(). A run that was stopped before its end does not count.
ComparedRun compared_run(const nlohmann::ordered_json& summary);

class Comparison {
 public:
  // Runs are in the order of the job file. Speed means time to target if there is a target,
  // otherwise samples per second. The first run that has a speed is the baseline.
  explicit Comparison(std::vector<ComparedRun> runs);

  const std::vector<ComparedRun>& runs() const { return runs_; }

  // One row per run. The best value of a column is marked with *, unless all are equal. The last
  // line names the best run.
  std::string table() const;

 private:
  std::string last_line() const;

  std::vector<ComparedRun> runs_;
  std::optional<std::string> target_;  // as text, if a run has one
};

}  // namespace motley
