// A Task on torch: data, a network to copy, and how to evaluate and save it. This header needs no
// torch. Jobs come through compute/load.h, which has checked that model and data fit.
#pragma once

#include <memory>

#include "base/error.h"
#include "compute/data/dataset.h"
#include "motley/job/job.h"
#include "motley/sync/task.h"

namespace motley {

Result<std::shared_ptr<Task>> make_torch_task(const Job& job, Dataset data);

}  // namespace motley
