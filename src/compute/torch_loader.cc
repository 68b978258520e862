#include "compute/torch_loader.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <stdexcept>
#include <string_view>

#include "base/reason.h"
#include "job/choices.h"

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

constexpr const char* kMakerName = "motley_make_torch_task";

#if defined(MOTLEY_TORCH_LIBRARY)
constexpr std::string_view kTorchLibrary = MOTLEY_TORCH_LIBRARY;
#else  // built without torch
constexpr std::string_view kTorchLibrary;
#endif

// The library stays loaded, because the tasks it makes run its code.
MakeTorchTask find_maker() {
  void* symbol = dlsym(RTLD_DEFAULT, kMakerName);
  if (!symbol) {
    const std::string path = own_directory() / kTorchLibrary;
    void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_GLOBAL);
    symbol = library ? dlsym(library, kMakerName) : nullptr;
  }
  if (!symbol) {
    throw std::runtime_error(
        fmt::format("torch cannot be loaded: {}{}", dlerror(), memory_limit()));
  }
  return reinterpret_cast<MakeTorchTask>(symbol);
}

}  // namespace

Status expect_torch(const Job& job) {
  if (!job.phantom() && kTorchLibrary.empty() && !dlsym(RTLD_DEFAULT, kMakerName)) {
    return fail(
        "model.kind = \"{}\" needs torch, and this motley was built without it "
        "(MOTLEY_COMPUTE=OFF): it can only simulate model.kind = \"phantom\"",
        name_of(job.model.kind));
  }
  return {};
}

Result<std::shared_ptr<Task>> load_torch_task(const Job& job, Dataset data) {
  static const MakeTorchTask make = find_maker();
  Result<std::shared_ptr<Task>> task;
  make(job, data, task);
  return task;
}

}  // namespace motley
