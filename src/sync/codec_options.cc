#include "sync/codec_options.h"

#include "motley/sync/method.h"

namespace motley {
CodecOptions codec_options_of(const Job& job) {
  const MethodSchema& method = method_of(job).schema;
  const CodecSettings settings =
      method.codec_settings ? method.codec_settings(job)
                            : CodecSettings{job.strategy.topk.ratio, job.strategy.error_feedback};
  CodecOptions options;
  options.kind = job.strategy.codec;
  options.ratio = settings.ratio;
  options.error_feedback = settings.error_feedback;
  return options;
}

}  // namespace motley
