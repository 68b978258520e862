// The codec that a job names, as codec/codec.h wants to be told of it.
#pragma once

#include "codec/codec.h"
#include "motley/job/job.h"

namespace motley {

CodecOptions codec_options_of(const Job& job);

}  // namespace motley
