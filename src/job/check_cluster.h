// Checks that the machines, links and events of a job can be combined.
#pragma once

#include "job/document.h"
#include "job/parse.h"

namespace motley {

// Lists of the job are filled in already. Returns the first problem found.
Status check_cluster(const Job& job, const Document& document, Mode mode);

}  // namespace motley
