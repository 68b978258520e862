// MethodSchema: what a job file can say about a method. Plain data, and functions of a job.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "motley/job/key.h"

namespace motley {

// Why a job cannot be run, and which keys are to blame: the message points at the first of them
// that the job file gives.
struct JobProblem {
  std::vector<std::string_view> keys;
  std::string message;
};
using Checked = std::optional<JobProblem>;  // nullopt: nothing is wrong

// Whether the job file, a flag or the program gives a key itself.
using IsGiven = std::function<bool(std::string_view key)>;

// What travels between the workers of a method.
enum class ExchangeKind {
  kGradients,  // sums of gradients
  kChanges,    // what changed since the last exchange
  kModels,     // whole models: a codec would lose what a step changes, and is refused
};

// The method brings its own settings for a codec: `strategy.error_feedback` and `strategy.topk` are
// not for it.
struct CodecSettings {
  double ratio = 1;
  bool error_feedback = false;
};

struct MethodSchema {
  std::string_view name;     // strategy.sync in a job
  std::string_view summary;  // one line for `motley strategies`
  std::vector<Key<Job>> keys = {};

  ExchangeKind exchanges = ExchangeKind::kGradients;
  bool has_servers = false;  // processes beside the workers that hold parameters
  // The method decides how much each worker computes: only equal allocation goes with it.
  bool own_shares = false;
  CodecKind default_codec = CodecKind::kNone;
  CodecSettings (*codec_settings)(const Job& job) = nullptr;  // null: those of the job

  // Fills in defaults that depend on the rest of the job. May be null.
  void (*complete)(Job& job) = nullptr;
  // What only this method asks of a job. May be null.
  Checked (*check)(const Job& job, const IsGiven& is_given) = nullptr;
};

}  // namespace motley
