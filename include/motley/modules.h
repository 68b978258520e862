// Anything with parameters as a module that motley::Trainer can train.
//
//   torch::jit::Module net = torch::jit::load("net.pt");       // exported from Python
//   auto model = motley::scripted(net);
//   torch::optim::Adam optimizer(model->parameters());
//   motley::Trainer trainer(session, model, optimizer, data);  // the loop calls net.forward()
//
//   torch::Tensor w = torch::zeros({3}, torch::requires_grad());
//   auto model = motley::tensors({{"w", w}});
//
// The tensors are the same tensors: what is trained is seen through both.
#pragma once

#include "motley/base/cxx20.h"

#include <torch/csrc/jit/api/module.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace motley {

// A TorchScript module: its parameters and buffers under their names, with all submodules. train()
// and eval() apply to it.
std::shared_ptr<torch::nn::Module> scripted(const torch::jit::Module& module);

using TensorList = std::vector<std::pair<std::string, torch::Tensor>>;

// Tensors under names of the program. A dot makes a group: "encoder.weight". Of the parameters
// those with requires_grad are trained; buffers are state of the model. Throws Refused if a name is
// there twice, or if a parameter was computed from others.
std::shared_ptr<torch::nn::Module> tensors(const TensorList& parameters,
                                           const TensorList& buffers = {});

}  // namespace motley
