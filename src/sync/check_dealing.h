// Whether samples can be dealt as a job asks: order, drop_last, sticky, min_share.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "motley/job/job.h"

namespace motley {

// `training_samples`: in the data set. The error names the key and says what to do.
Status check_dealing(const Job& job, std::int64_t training_samples);

}  // namespace motley
