#include "compute/torch_loader.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <stdexcept>

namespace motley {
namespace {

using MakeTorchTask = void (*)(const Job&, Dataset&, Result<std::shared_ptr<Task>>&);

// The directory of the library that contains this code, in a build tree or installed.
std::filesystem::path own_directory() {
  static const char here = 0;
  Dl_info info;
  if (dladdr(&here, &info) == 0) {
    throw std::runtime_error("torch cannot be loaded: the directory of libmotley.so is unknown");
  }
  return std::filesystem::path(info.dli_fname).parent_path();
}

// The library stays loaded, because the tasks it makes run its code.
MakeTorchTask find_maker() {
  constexpr const char* kName = "motley_make_torch_task";
  void* symbol = dlsym(RTLD_DEFAULT, kName);
  if (!symbol) {
    const std::string path = own_directory() / MOTLEY_TORCH_LIBRARY;
    void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_GLOBAL);
    symbol = library ? dlsym(library, kName) : nullptr;
  }
  if (!symbol) {
    throw std::runtime_error(fmt::format("torch cannot be loaded: {}", dlerror()));
  }
  return reinterpret_cast<MakeTorchTask>(symbol);
}

}  // namespace

Result<std::shared_ptr<Task>> load_torch_task(const Job& job, Dataset data) {
  static const MakeTorchTask make = find_maker();
  Result<std::shared_ptr<Task>> task;
  make(job, data, task);
  return task;
}

}  // namespace motley
