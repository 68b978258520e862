#include "motley/load_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <utility>
#include <vector>

#include "api/module_tensors.h"
#include "api/saved_model.h"
#include "motley/base/failure.h"

namespace motley {
namespace {

// A tensor of the module that is to be filled, and the numbers for it.
using Filling = std::pair<torch::Tensor, torch::Tensor>;

void expect_alike(const std::string& name, const torch::Tensor& ours, const torch::Tensor& saved) {
  if (ours.sizes() != saved.sizes()) {
    throw Refused(fmt::format("{} has the shape [{}] there; the module has [{}]", name,
                              fmt::join(saved.sizes(), ", "), fmt::join(ours.sizes(), ", ")));
  }
  if (ours.is_floating_point() != saved.is_floating_point()) {
    throw Refused(fmt::format("{} is {} there; the module has {}", name,
                              c10::toString(saved.scalar_type()),
                              c10::toString(ours.scalar_type())));
  }
}

// Modules may share a tensor; a model that motley has saved has it under its first name only.
std::vector<Filling> match(const torch::nn::Module& module, const SavedModel& saved) {
  std::vector<Filling> fillings;
  std::set<const void*> filled;
  std::set<std::string> names;
  for (const auto& [name, tensor] : tensors_of(module)) {
    names.insert(name);
    const auto found = saved.find(name);
    const bool is_new = !filled.contains(tensor.unsafeGetTensorImpl());
    if (found == saved.end() && is_new) {
      throw Refused(fmt::format("{} is missing", name));
    }
    if (found != saved.end()) {
      expect_alike(name, tensor, found->second);
    }
    if (is_new) {
      filled.insert(tensor.unsafeGetTensorImpl());
      fillings.emplace_back(tensor, found->second);
    }
  }
  for (const auto& [name, tensor] : saved) {
    if (!names.contains(name)) {
      throw Refused(fmt::format("it has {}, which the module does not have", name));
    }
  }
  return fillings;
}

}  // namespace

void load_model(const std::filesystem::path& path, torch::nn::Module& module) {
  ParameterNames parameters;
  for (const auto& item : module.named_parameters()) {
    parameters.insert(item.key());
  }
  const auto saved = read_saved_model(path, parameters);
  if (!saved) {
    throw Refused(saved.error().message);
  }
  std::vector<Filling> fillings;
  try {
    fillings = match(module, *saved);
  } catch (const Refused& refused) {
    throw Refused(fmt::format("{}: {}", path.string(), refused.what()));
  }
  const torch::NoGradGuard no_grad;
  for (auto& [ours, numbers] : fillings) {
    ours.copy_(numbers);
  }
}

}  // namespace motley
