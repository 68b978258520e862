// The codec of a job as CodecOptions (codec/codec.h).
#pragma once

#include "codec/codec.h"
#include "motley/job/job.h"

namespace motley {

CodecOptions codec_options_of(const Job& job);

}  // namespace motley
