// ProgramState: what a program adds to the state of its run (Trainer::add_state), by name.
#pragma once

#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>
#include <torch/optim/schedulers/lr_scheduler.h>

#include <functional>
#include <string>
#include <vector>

#include "motley/state/archive.h"

namespace motley {

class ProgramState {
 public:
  // Throws std::invalid_argument if the name is empty, has a dot, or is taken.
  void add(const std::string& name, std::function<std::string()> save,
           std::function<void(const std::string&)> load);
  void add(const std::string& name, const torch::Tensor& tensor);
  void add(const std::string& name, torch::nn::Module& module);
  void add(const std::string& name, torch::optim::Optimizer& optimizer);
  void add(const std::string& name, torch::optim::LRScheduler& scheduler);

  // In the order of add(). Restoring refuses a state that lacks one of the names; what else it has
  // is ignored.
  void state(Archive& archive);

 private:
  struct Part {
    std::string name;
    std::function<void(Archive&)> body;

    void state(Archive& archive) { body(archive); }
  };

  void expect_all(const std::vector<std::string>& saved) const;
  void add_part(const std::string& name, std::function<void(Archive&)> body);

  std::vector<Part> parts_;
};

}  // namespace motley
