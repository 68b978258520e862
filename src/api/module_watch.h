// ModuleWatch: notices what a program does to its module and its optimizer while they are trained.
// The ranks would part without a word: what one of them trains or loads, the others do not see.
#pragma once

#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compute/named_tensor.h"

namespace motley {

class ModuleWatch {
 public:
  // How it is now is how it should stay. `trained` are the parameters that are trained.
  ModuleWatch(const torch::nn::Module& module, const torch::optim::Optimizer& optimizer,
              NamedTensors trained);

  // What has changed of the set of parameters, or nullopt: "parameter fc.weight can be trained
  // now". Cost: half a microsecond for each module.
  std::optional<std::string> changed_set() const;
  // A trained parameter whose numbers are in other memory, as after torch::load().
  std::optional<std::string> moved() const;
  // A trained parameter that was written to since note_numbers(). Some writes leave no trace in
  // torch, so a few of its numbers are compared, too.
  std::optional<std::string> written() const;
  void note_numbers();

 private:
  struct Seen {
    torch::Tensor parameter;  // keeps it alive, so that no other one can be in its place
    bool is_trained;
  };

  // The numbers are compared bit by bit: NaN is as good as any.
  struct Trace {
    explicit Trace(const torch::Tensor& tensor);
    friend bool operator==(const Trace&, const Trace&) = default;

    std::int64_t version;
    std::array<std::uint32_t, 3> numbers{};
  };

  std::string difference() const;
  std::optional<std::string> changed_groups() const;

  const torch::nn::Module& module_;
  const torch::optim::Optimizer& optimizer_;
  NamedTensors trained_;
  std::vector<Seen> seen_;  // all parameters, in the order in which the modules are visited
  NamedTensors named_;      // all parameters
  std::vector<bool> is_named_trained_;
  std::vector<std::size_t> groups_;  // how many parameters each group of the optimizer has
  std::vector<const void*> places_;  // of the numbers of trained_
  std::vector<Trace> traces_;        // of trained_
};

}  // namespace motley
