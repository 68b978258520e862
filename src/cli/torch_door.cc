// The program's door to torch: make_torch_task() loads the library that has it, which lies beside
// the program, when the first job wants to compute.
#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <stdexcept>

#include "compute/torch_task.h"

namespace motley {
namespace {

using MakeTorchTask = void (*)(const Job&, Dataset&, Result<std::shared_ptr<Task>>&);

// It stays loaded: what it made has its code in there.
MakeTorchTask open_door() {
  const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::string path = here / "libmotley_torch_task.so";
  void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_GLOBAL);
  void* symbol = library ? dlsym(library, "motley_make_torch_task") : nullptr;
  if (!symbol) {
    throw std::runtime_error(fmt::format("torch cannot be loaded: {}", dlerror()));
  }
  return reinterpret_cast<MakeTorchTask>(symbol);
}

}  // namespace

Result<std::shared_ptr<Task>> make_torch_task(const Job& job, Dataset data) {
  static const MakeTorchTask make = open_door();
  Result<std::shared_ptr<Task>> task;
  make(job, data, task);
  return task;
}

}  // namespace motley
