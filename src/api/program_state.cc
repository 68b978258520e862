#include "api/program_state.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include "api/module_tensors.h"
#include "compute/optimizer_state.h"
#include "compute/tensor_state.h"
#include "compute/torch_error.h"

namespace motley {
namespace {

// torch's schedulers count their steps, but have neither save() nor load().
struct StepCount : torch::optim::LRScheduler {
  static unsigned& of(torch::optim::LRScheduler& scheduler) {
    return scheduler.*(&StepCount::step_count_);
  }
};

void text_state(Archive& archive, const std::function<std::string()>& save,
                const std::function<void(const std::string&)>& load) {
  std::vector<std::byte> bytes;
  if (archive.is_saving()) {
    const std::string text = save();
    const auto* begin = reinterpret_cast<const std::byte*>(text.data());
    bytes.assign(begin, begin + text.size());
  }
  archive.bytes("bytes", bytes);
  if (!archive.is_saving()) {
    load(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
}

// What a program's own function throws.
[[noreturn]] void throw_load_error(const std::string& name, const std::exception& error) {
  throw StateError(fmt::format("the state \"{}\" of the program cannot be loaded: {}", name,
                               short_reason(error)));
}

}  // namespace

void ProgramState::add_part(const std::string& name, std::function<void(Archive&)> body) {
  if (name.empty() || name.find('.') != std::string::npos) {
    throw std::invalid_argument(
        fmt::format("add_state(\"{}\"): expected a name without dots", name));
  }
  for (const Part& part : parts_) {
    if (part.name == name) {
      throw std::invalid_argument(
          fmt::format("add_state(\"{}\"): there is a state of that name already", name));
    }
  }
  parts_.push_back({name, std::move(body)});
}

void ProgramState::add(const std::string& name, std::function<std::string()> save,
                       std::function<void(const std::string&)> load) {
  if (!save || !load) {
    throw std::invalid_argument(
        fmt::format("add_state(\"{}\"): expected a function to save and one to load", name));
  }
  const auto named_load = [name, load = std::move(load)](const std::string& text) {
    try {
      load(text);
    } catch (const std::exception& error) {
      throw_load_error(name, error);
    }
  };
  add_part(name, [save = std::move(save), named_load](Archive& archive) {
    text_state(archive, save, named_load);
  });
}

void ProgramState::add(const std::string& name, const torch::Tensor& tensor) {
  if (!tensor.defined()) {
    throw std::invalid_argument(fmt::format("add_state(\"{}\"): the tensor is undefined", name));
  }
  add_part(name, [tensor](Archive& archive) { tensor_state(archive, "tensor", tensor); });
}

void ProgramState::add(const std::string& name, torch::nn::Module& module) {
  add_part(name, [&module](Archive& archive) {
    tensor_states(archive, "", without(tensors_of(module), {}));
  });
}

void ProgramState::add(const std::string& name, torch::optim::Optimizer& optimizer) {
  add_part(name, [state = std::make_shared<OptimizerState>(optimizer),
                  settings = std::make_shared<OptimizerSettings>(optimizer)](Archive& archive) {
    archive("optimizer", *state);
    archive("settings", *settings);
  });
}

void ProgramState::add(const std::string& name, torch::optim::LRScheduler& scheduler) {
  add_part(name, [&scheduler](Archive& archive) { archive("steps", StepCount::of(scheduler)); });
}

void ProgramState::expect_all(const std::vector<std::string>& saved) const {
  for (const Part& part : parts_) {
    if (std::ranges::find(saved, part.name) == saved.end()) {
      throw StateError(fmt::format(
          "it has no state \"{}\", which the program adds; the run that wrote it added: {}",
          part.name, saved.empty() ? "none" : fmt::format("{}", fmt::join(saved, ", "))));
    }
  }
}

void ProgramState::state(Archive& archive) {
  std::vector<std::string> names;
  for (const Part& part : parts_) {
    names.push_back(part.name);
  }
  archive("names", names);
  if (!archive.is_saving()) {
    expect_all(names);
  }
  for (Part& part : parts_) {
    archive("of_" + part.name, part);
  }
}

}  // namespace motley
