// A model from a file: a module saved by torch.jit.save, whose forward takes [batch, ...shape] and
// gives logits [batch, classes]. Its parameters are float32; those saved with requires_grad are
// trained, from the values in the file on; the others stay as they are.
//
// Loading tries the module on a batch of zeros, in training and in evaluation, so that what does
// not fit is said before anything runs. A module whose forward replaces a float buffer, instead of
// writing into it, is refused: its state could not be exchanged.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "compute/torch_model.h"

namespace motley {

// The file is read once; the maker keeps its bytes.
Result<TorchModelMaker> load_torchscript(const std::string& path,
                                         const std::vector<std::int64_t>& shape,
                                         std::int64_t classes);

}  // namespace motley
