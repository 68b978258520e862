// Loads torch when it is first needed, so that code without torch headers can make torch tasks.
//
// A program that links libmotley_torch.so already has it. Otherwise it is loaded from the directory
// of libmotley.so, which takes most of a second and 290 shared libraries. Bad input, servers and
// phantom models do not need it.
#pragma once

#include <memory>

#include "base/error.h"
#include "compute/data/dataset.h"
#include "motley/job/job.h"
#include "motley/sync/task.h"

namespace motley {

// Calls make_torch_task() (compute/torch_task.h). Throws std::runtime_error if torch cannot be
// loaded.
Result<std::shared_ptr<Task>> load_torch_task(const Job& job, Dataset data);

}  // namespace motley
