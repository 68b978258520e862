// The way from what knows no torch to what does: whoever calls load_task() (compute/load.h) links
// one definition of this. That of libmotley.so (cli/torch_door.cc) loads libmotley_torch.so when
// the first job wants to compute; that of the tests is there already.
#pragma once

#include <memory>

#include "base/error.h"
#include "compute/data/dataset.h"
#include "job/job.h"
#include "sync/task.h"

namespace motley {

// make_torch_task() (compute/torch_task.h), wherever it is.
Result<std::shared_ptr<Task>> task_behind_door(const Job& job, Dataset data);

}  // namespace motley
