// What a torch optimizer remembers between two steps (momenta, counters), and torch's random
// numbers, through an Archive.
#pragma once

#include <torch/optim/optimizer.h>

#include "motley/state/archive.h"

namespace motley {

// Tensors of the common optimizers are stored by name; an optimizer that motley does not know is
// stored as the bytes that torch writes. Settings such as the learning rate are not part of it.
void optimizer_state(Archive& archive, torch::optim::Optimizer& optimizer);

// Of torch's default generator on the CPU, which dropout uses.
void generator_state(Archive& archive);

}  // namespace motley
