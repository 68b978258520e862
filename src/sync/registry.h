// The methods that exist (motley/sync/method.h), as the job file sees them.
#pragma once

#include "job/schema.h"
#include "motley/sync/method.h"

namespace motley {

// The keys of a job file with all methods that are known now: motley's own and registered ones.
const JobSchema& job_schema();

}  // namespace motley
