#include "api/module_gradients.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

namespace motley {
namespace {

std::span<float> numbers_of(const torch::Tensor& window) {
  return {window.data_ptr<float>(), static_cast<std::size_t>(window.numel())};
}

// A tensor without numbers has no mark: its gradient makes no difference.
bool says_none(std::span<const float> numbers) {
  return !numbers.empty() && numbers.front() == 0 && std::signbit(numbers.front()) &&
         std::ranges::all_of(numbers, [](float number) { return number == 0; });
}

void say(std::span<float> numbers, bool is_there) {
  if (!numbers.empty() && says_none(numbers) == is_there) {
    numbers.front() = is_there ? 0.0F : -0.0F;
  }
}

}  // namespace

ModuleGradients::ModuleGradients(FlatModel& model)
    : model_(model), windows_(model.gradient_windows()), versions_(windows_.size()) {
  for (GradientWindow& each : windows_) {
    each.parameter.mutable_grad().reset();
  }
  gather_nothing();
}

void ModuleGradients::clear() {
  model_.zero_gradients();
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    auto& [parameter, window] = windows_[i];
    torch::Tensor& gradient = parameter.mutable_grad();
    if (gradient.defined() && !gradient.is_same(window)) {
      gradient = window;  // the program has put another one in its place
    }
    versions_[i] = window._version();
  }
}

bool ModuleGradients::gather() {
  bool is_anything = false;
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    const auto& [parameter, window] = windows_[i];
    const torch::Tensor& gradient = parameter.grad();
    is_anything = is_anything || (gradient.defined() &&
                                  (!gradient.is_same(window) || window._version() != versions_[i]));
  }
  std::vector<bool> are_there;
  for (const GradientWindow& each : windows_) {
    are_there.push_back(each.parameter.grad().defined());
  }
  model_.gather_gradients();
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    say(numbers_of(windows_[i].window), are_there[i]);
    if (!are_there[i]) {
      windows_[i].parameter.mutable_grad().reset();
    }
  }
  return is_anything;
}

void ModuleGradients::gather_nothing() {
  model_.zero_gradients();
  for (const GradientWindow& each : windows_) {
    say(numbers_of(each.window), false);
  }
}

void ModuleGradients::scatter() {
  for (GradientWindow& each : windows_) {
    torch::Tensor& gradient = each.parameter.mutable_grad();
    if (says_none(numbers_of(each.window))) {
      gradient.reset();
    } else if (!gradient.is_same(each.window)) {
      gradient = each.window;
    }
  }
}

void ModuleGradients::state(Archive& archive) {
  std::vector<bool> are_there;
  for (const GradientWindow& each : windows_) {
    are_there.push_back(each.parameter.grad().defined());
  }
  archive("are_there", are_there);
  if (archive.is_saving()) {
    return;
  }
  if (are_there.size() != windows_.size()) {
    throw StateError("the state has gradients of other parameters");
  }
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    windows_[i].parameter.mutable_grad() = are_there[i] ? windows_[i].window : torch::Tensor();
  }
}

}  // namespace motley
