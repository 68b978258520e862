#include "sync/codec_options.h"

#include <array>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace motley {
namespace {

constexpr std::array<std::pair<std::string_view, CodecKind>, 5> kKinds{{
    {"none", CodecKind::kNone},
    {"fp16", CodecKind::kFp16},
    {"bf16", CodecKind::kBf16},
    {"int8", CodecKind::kInt8},
    {"topk", CodecKind::kTopk},
}};

CodecKind kind_of(std::string_view name) {
  for (const auto& [its_name, kind] : kKinds) {
    if (its_name == name) {
      return kind;
    }
  }
  check_failed(__FILE__, __LINE__, "kind_of(name)", fmt::format("there is no codec \"{}\"", name));
}

}  // namespace

CodecOptions codec_options_of(const Job& job) {
  const StrategySpec& strategy = job.strategy;
  CodecOptions options;
  options.kind = kind_of(strategy.codec);
  options.ratio = strategy.topk.ratio;
  options.error_feedback =
      strategy.sync == "ashl" ? strategy.ashl.error_feedback : strategy.error_feedback;
  return options;
}

}  // namespace motley
