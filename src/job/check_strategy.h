// What the settings of a method must be together, and with the number of workers.
#pragma once

#include "job/document.h"
#include "motley/job/job.h"

namespace motley {

// Looks at the method that the job uses, not at settings that rest beside it.
Status check_strategy(const Job& job, const Document& document);

}  // namespace motley
