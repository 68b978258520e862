// Which tensors of a module are trained, and what cannot be trained.
#pragma once

#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>

#include "compute/named_tensor.h"

namespace motley {

// The parameters with requires_grad. One that two modules share is there once. Throws Refused if
// there are none, or if one is not float32 on the CPU.
NamedTensors trained_parameters(const torch::nn::Module& module);

// Integer counters are left out: they cannot be averaged. A buffer that two modules share is there
// once.
NamedTensors float_buffers(const torch::nn::Module& module);

// Throws Refused if the optimizer has parameters of something else, or needs a closure.
void check_optimizer(const torch::optim::Optimizer& optimizer, const NamedTensors& trained);

}  // namespace motley
