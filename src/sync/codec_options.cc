#include "sync/codec_options.h"

#include <array>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "motley/sync/method.h"

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
  const MethodSchema& method = method_of(job).schema;
  const CodecSettings settings =
      method.codec_settings ? method.codec_settings(job)
                            : CodecSettings{job.strategy.topk.ratio, job.strategy.error_feedback};
  CodecOptions options;
  options.kind = kind_of(job.strategy.codec);
  options.ratio = settings.ratio;
  options.error_feedback = settings.error_feedback;
  return options;
}

}  // namespace motley
