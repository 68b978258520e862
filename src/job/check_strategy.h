// Checks that the allocation, codec, servers and method of a job can be combined.
#pragma once

#include "job/document.h"

namespace motley {

// `method` is the job's method. Returns the first problem found.
Status check_strategy(const MethodSchema& method, const Job& job, const Document& document);

}  // namespace motley
