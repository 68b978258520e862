// The job schema of all known methods (motley/sync/method.h).
#pragma once

#include "job/schema.h"
#include "motley/sync/method.h"

namespace motley {

// The keys of a job file, with those of all methods known now: motley's own and registered ones.
const JobSchema& job_schema();

}  // namespace motley
