// What an optimizer of the class LBFGS remembers, through an Archive.
#pragma once

#include <torch/optim/lbfgs.h>

#include "motley/state/archive.h"

namespace motley {

void lbfgs_state(Archive& archive, torch::optim::LBFGS& optimizer);

}  // namespace motley
