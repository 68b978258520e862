// A Task on torch: data, a network to copy, a way to judge and to save. No torch in here; jobs come
// through compute/load.h, which has checked that model and data fit.
#pragma once

#include <memory>

#include "base/error.h"
#include "compute/data/dataset.h"
#include "motley/job/job.h"
#include "motley/sync/task.h"

namespace motley {

Result<std::shared_ptr<Task>> make_torch_task(const Job& job, Dataset data);

}  // namespace motley
