// A model from a file: a module saved by torch.jit.save, whose forward maps [batch, ...shape] to
// logits [batch, classes]. Its parameters must be float32. Those saved with requires_grad are
// trained, starting from the values in the file; the others stay as they are.
//
// Loading runs the module on a batch of zeros, in training and in evaluation mode, so that a
// mismatch is reported before anything else runs. A module whose forward replaces a float buffer
// instead of writing into it is refused: its state could not be exchanged.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "compute/torch_model.h"

namespace motley {

// Reads the file once; the maker keeps its bytes.
Result<TorchModelMaker> load_torchscript(const std::string& path,
                                         const std::vector<std::int64_t>& shape,
                                         std::int64_t classes);

// The parameters and buffers of a module in the format of torch.jit.save and torch::save. Throws
// std::runtime_error with one line if it is something else.
NamedTensors tensors_of_script(const std::string& bytes);

}  // namespace motley
