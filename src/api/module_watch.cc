#include "api/module_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace motley {
namespace {

const void* place_of(const torch::Tensor& tensor) { return tensor.unsafeGetTensorImpl()->data(); }

// In a fixed order. named_parameters() of the whole module makes all names, which takes longer than
// a small model's step.
template <class Visit>
void visit_parameters(const torch::nn::Module& part, const Visit& visit) {
  for (const auto& item : part.named_parameters(/*recurse=*/false)) {
    visit(item.value());
  }
  for (const auto& child : part.children()) {
    visit_parameters(*child, visit);
  }
}

std::vector<std::size_t> sizes_of(const torch::optim::Optimizer& optimizer) {
  std::vector<std::size_t> sizes;
  for (const auto& group : optimizer.param_groups()) {
    sizes.push_back(group.params().size());
  }
  return sizes;
}

}  // namespace

ModuleWatch::ModuleWatch(const torch::nn::Module& module, const torch::optim::Optimizer& optimizer,
                         NamedTensors trained)
    : module_(module),
      optimizer_(optimizer),
      trained_(std::move(trained)),
      groups_(sizes_of(optimizer)) {
  visit_parameters(module_, [this](const torch::Tensor& parameter) {
    seen_.push_back({parameter, parameter.requires_grad()});
  });
  for (const auto& item : module_.named_parameters()) {
    named_.push_back({item.key(), item.value()});
    is_named_trained_.push_back(item.value().requires_grad());
  }
  for (const NamedTensor& each : trained_) {
    places_.push_back(place_of(each.tensor));
  }
  note_numbers();
}

std::optional<std::string> ModuleWatch::changed_set() const {
  std::size_t place = 0;
  bool is_same = true;
  visit_parameters(module_, [&](const torch::Tensor& parameter) {
    is_same = is_same && place < seen_.size() && parameter.is_same(seen_[place].parameter) &&
              parameter.requires_grad() == seen_[place].is_trained;
    ++place;
  });
  if (!is_same || place != seen_.size()) {
    return difference();
  }
  return changed_groups();
}

std::string ModuleWatch::difference() const {
  const auto now = module_.named_parameters();
  for (std::size_t i = 0; i < named_.size(); ++i) {
    const auto& [name, parameter] = named_[i];
    const torch::Tensor* found = now.find(name);
    if (!found) {
      return fmt::format("parameter {} is gone", name);
    }
    if (!found->is_same(parameter)) {
      return fmt::format("parameter {} is another tensor now", name);
    }
    if (found->requires_grad() != is_named_trained_[i]) {
      return fmt::format("parameter {} is {} now", name,
                         is_named_trained_[i] ? "frozen" : "to be trained");
    }
  }
  for (const auto& item : now) {
    if (std::ranges::none_of(named_, [&](const auto& each) { return each.name == item.key(); })) {
      return fmt::format("parameter {} is new", item.key());
    }
  }
  return "the order of the parameters has changed";
}

std::optional<std::string> ModuleWatch::changed_groups() const {
  const auto& groups = optimizer_.param_groups();
  for (std::size_t i = 0; i < std::max(groups.size(), groups_.size()); ++i) {
    if (i >= groups_.size()) {
      return fmt::format("the optimizer has a new group {} of {} parameters", i,
                         groups[i].params().size());
    }
    if (i >= groups.size() || groups[i].params().size() != groups_[i]) {
      return fmt::format("group {} of the optimizer has other parameters now", i);
    }
  }
  return std::nullopt;
}

std::optional<std::string> ModuleWatch::moved() const {
  for (std::size_t i = 0; i < trained_.size(); ++i) {
    if (place_of(trained_[i].tensor) != places_[i]) {
      return trained_[i].name;
    }
  }
  return std::nullopt;
}

// For example SGD of libtorch writes through data(), which has a version of its own.
ModuleWatch::Trace::Trace(const torch::Tensor& tensor) : version(tensor._version()) {
  const auto size = static_cast<std::size_t>(tensor.numel());
  const auto* bytes = static_cast<const std::byte*>(place_of(tensor));
  for (std::size_t i = 0; size > 0 && i < numbers.size(); ++i) {
    const std::size_t place = i * (size - 1) / (numbers.size() - 1);
    std::memcpy(&numbers[i], bytes + place * sizeof(float), sizeof(float));
  }
}

std::optional<std::string> ModuleWatch::written() const {
  for (std::size_t i = 0; i < trained_.size(); ++i) {
    if (Trace(trained_[i].tensor) != traces_[i]) {
      return trained_[i].name;
    }
  }
  return std::nullopt;
}

void ModuleWatch::note_numbers() {
  traces_.clear();
  for (const NamedTensor& each : trained_) {
    traces_.emplace_back(each.tensor);
  }
}

}  // namespace motley
