// The symbol that libmotley.so looks up in libmotley_torch.so: make_torch_task(), under a C name.
#include <utility>

#include "compute/torch_task.h"

extern "C" void motley_make_torch_task(const motley::Job& job, motley::Dataset& data,
                                       motley::Result<std::shared_ptr<motley::Task>>& task) {
  task = motley::make_torch_task(job, std::move(data));
}
