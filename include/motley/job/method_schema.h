// MethodSchema: what a job file can say about a method. Plain data and pure functions of a job.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "motley/job/key.h"

namespace motley {

// Why a job is invalid, and which keys cause it. The message points at the first of these keys that
// the job file contains.
struct JobProblem {
  std::vector<std::string_view> keys;
  std::string message;
};
using Checked = std::optional<JobProblem>;  // nullopt if the job is valid

// True if the job file, a flag or the program sets the key explicitly.
// `motley config` prints every key, so refuse a key only where the key that chooses it is not
// given.
using IsGiven = std::function<bool(std::string_view key)>;

// What the workers of a method send to each other.
enum class ExchangeKind {
  kGradients,  // sums of gradients
  kChanges,    // changes of the model since the last exchange
  kModels,     // whole models; codecs are not allowed, as they would lose what a step changes
};

// Codec settings that a method chooses itself. The job's `strategy.error_feedback` and
// `strategy.topk` do not apply to such a method.
struct CodecSettings {
  double ratio = 1;
  bool error_feedback = false;
};

struct MethodSchema {
  std::string_view name;     // strategy.sync in a job
  std::string_view summary;  // one line for `motley strategies`
  std::vector<Key<Job>> keys = {};

  ExchangeKind exchanges = ExchangeKind::kGradients;
  bool has_servers = false;  // extra processes that hold the parameters
  // The method decides how much each worker computes, so only `equal` allocation is allowed.
  bool own_shares = false;
  CodecKind default_codec = CodecKind::kNone;
  CodecSettings (*codec_settings)(const Job& job) = nullptr;  // null: the job's settings

  // Fills in defaults that depend on the rest of the job. May be null.
  void (*complete)(Job& job) = nullptr;
  // Checks that only this method needs. May be null.
  Checked (*check)(const Job& job, const IsGiven& is_given) = nullptr;
};

}  // namespace motley
