// Summary: the result of a run, as written to summary.json and the lines of metrics.jsonl.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "motley/base/figure.h"
#include "motley/base/ids.h"
#include "motley/state/archive.h"

namespace motley {

struct NamedNumber {
  std::string name;
  double value = 0;

  void state(Archive& archive) {
    archive("name", name);
    archive("value", value);
  }
  friend bool operator==(const NamedNumber&, const NamedNumber&) = default;
};

// One evaluation.
struct Metric {
  Seconds seconds = 0;  // training time at which the model was in this state
  std::int64_t step = 0;
  std::int64_t samples = 0;
  double loss = 0;                      // on the test set
  double accuracy = 0;                  // on the test set; NaN if unknown
  std::optional<double> train_loss;     // mean over the samples since the previous evaluation
  std::vector<NamedNumber> named = {};  // what else a program has measured

  void state(Archive& archive) {
    archive("seconds", seconds);
    archive("step", step);
    archive("samples", samples);
    archive("loss", loss);
    archive("accuracy", accuracy);
    archive("train_loss", train_loss);
    archive("named", named);
  }
};

// From `step` on, worker i computed shares[i] samples of a full step.
struct ShareRecord {
  std::int64_t step = 0;
  std::vector<std::size_t> shares;
  std::string reason;
};

struct AllocationSummary {
  std::vector<ShareRecord> history;  // the first entry holds the initial shares
  std::string last_look;             // the last decision about shares; empty if they are fixed
};

struct WorkerSummary {
  Rank rank = 0;
  std::int64_t samples = 0;
  std::int64_t steps = 0;
  Seconds compute_seconds = 0;
  Seconds wait_seconds = 0;
  Seconds communicate_seconds = 0;
  std::int64_t bytes_sent = 0;
  std::size_t share = 0;  // samples of a full step, at the end
  // Measured by the worker; empty if the run was too short to tell.
  std::optional<double> samples_per_second;  // at its last share, while computing
  std::optional<Seconds> overhead_seconds;   // per part, independent of its size
  std::optional<double> pace_missed;  // share of its steps that took longer than their cost (train)

  // The totals; what is measured at the end is not part of it.
  void state(Archive& archive) {
    archive("rank", rank);
    archive("samples", samples);
    archive("steps", steps);
    archive("compute_seconds", compute_seconds);
    archive("wait_seconds", wait_seconds);
    archive("communicate_seconds", communicate_seconds);
    archive("bytes_sent", bytes_sent);
  }
};

struct ServerSummary {
  Rank rank = 0;
  std::int64_t bytes_sent = 0;
};

// The time of a worker or server in a run.
struct MemberRecord {
  ProcessId process;
  Seconds joined = 0;
  std::optional<Seconds> left = std::nullopt;  // nullopt: it was there at the end
  std::string why = {};                        // it left, or joined later than the others

  void state(Archive& archive) {
    archive("kind", process.kind);
    archive("id", process.id);
    archive("joined", joined);
    archive("left", left);
    archive("why", why);
  }
};

// What could not be kept when workers were lost.
struct Losses {
  std::int64_t samples_redealt = 0;   // dealt, not used, and dealt again
  std::int64_t samples_repeated = 0;  // possibly trained twice
  std::int64_t updates_lost = 0;      // died with the model of a worker

  void add(const Losses& more) {
    samples_redealt += more.samples_redealt;
    samples_repeated += more.samples_repeated;
    updates_lost += more.updates_lost;
  }
  void state(Archive& archive) {
    archive("samples_redealt", samples_redealt);
    archive("samples_repeated", samples_repeated);
    archive("updates_lost", updates_lost);
  }
};

struct Summary {
  std::string name;
  std::string mode;  // "train" | "simulate"
  std::uint64_t seed = 0;
  std::string sync;
  std::string allocation;
  std::string codec;
  Seconds seconds = 0;
  std::int64_t batch = 1;  // steps = samples / batch, rounded up
  std::int64_t samples = 0;
  double ideal_samples_per_second = 0;  // 0 = not paced
  std::vector<Metric> metrics;          // in order of samples
  std::optional<double> target_accuracy;
  std::int64_t max_iteration_gap = 0;
  std::optional<std::string> stopped;       // "target" | "SIGINT" | "SIGTERM": why it ended early
  int terms = 1;                            // parts of the run, each of which ended in a checkpoint
  std::int64_t checkpoints = 0;             // written, also before it was resumed
  std::optional<std::string> resumed_from;  // the path of a checkpoint
  AllocationSummary shares;
  Figures method;  // the method's own figures, under its name; empty: no key
  std::vector<WorkerSummary> workers;
  std::vector<WorkerSummary> former_workers;  // who were gone before the run ended
  std::vector<MemberRecord> members;          // everybody who was there
  Losses losses;
  std::vector<ServerSummary> servers;            // empty if the method has no servers
  std::optional<std::int64_t> simulated_events;  // simulate
  std::optional<int> simulator;                  // simulate: version of the model of machines
};

// When the target was first reached; nullopt if it was not reached or there is none.
std::optional<Seconds> time_to_target(std::span<const Metric> metrics,
                                      std::optional<double> target);

nlohmann::ordered_json to_json(const Summary& summary);
nlohmann::ordered_json to_json(const Metric& metric);
nlohmann::ordered_json to_json(const MemberRecord& member);

}  // namespace motley
