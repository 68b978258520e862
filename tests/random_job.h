// Random jobs for property tests: of every method, resolved, and valid for `motley config`.
#pragma once

#include <string_view>

#include "motley/job/job.h"

namespace motley {

// Call it inside a property of rapidcheck.
Job random_job();
Job random_job(std::string_view method);

}  // namespace motley
