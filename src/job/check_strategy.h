// Whether allocation, codec, servers and method of a job go together.
#pragma once

#include "job/document.h"

namespace motley {

// `method` is the job's. The first problem found.
Status check_strategy(const MethodSchema& method, const Job& job, const Document& document);

}  // namespace motley
