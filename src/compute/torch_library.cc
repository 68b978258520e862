// What libmotley_torch_task.so exports: make_torch_task() under a name that can be looked up.
#include <utility>

#include "compute/torch_task.h"

extern "C" void motley_make_torch_task(const motley::Job& job, motley::Dataset& data,
                                       motley::Result<std::shared_ptr<motley::Task>>& task) {
  task = motley::make_torch_task(job, std::move(data));
}
