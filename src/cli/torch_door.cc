// libmotley.so's door to torch: loads libmotley_torch.so, which lies beside it, when the first job
// wants to compute. Loading it takes most of a second and 290 shared libraries, which bad input,
// servers and phantom models need not wait for.
#include "compute/torch_door.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <stdexcept>

namespace motley {
namespace {

using MakeTorchTask = void (*)(const Job&, Dataset&, Result<std::shared_ptr<Task>>&);

// The directory of the file that this very code was loaded from: a build tree's, an installed
// one's.
std::filesystem::path own_directory() {
  static const char here = 0;
  Dl_info info;
  if (dladdr(&here, &info) == 0) {
    throw std::runtime_error("torch cannot be loaded: the place of libmotley.so is not known");
  }
  return std::filesystem::path(info.dli_fname).parent_path();
}

// It stays loaded: what it made has its code in there.
MakeTorchTask open_door() {
  const std::string path = own_directory() / MOTLEY_TORCH_LIBRARY;
  void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_GLOBAL);
  void* symbol = library ? dlsym(library, "motley_make_torch_task") : nullptr;
  if (!symbol) {
    throw std::runtime_error(fmt::format("torch cannot be loaded: {}", dlerror()));
  }
  return reinterpret_cast<MakeTorchTask>(symbol);
}

}  // namespace

Result<std::shared_ptr<Task>> task_behind_door(const Job& job, Dataset data) {
  static const MakeTorchTask make = open_door();
  Result<std::shared_ptr<Task>> task;
  make(job, data, task);
  return task;
}

}  // namespace motley
