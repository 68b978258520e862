// SavedModel: the tensors of a model as motley has saved it, from whatever was saved.
#pragma once

#include <torch/types.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "base/error.h"
#include "state/safetensors.h"

namespace motley {

using SavedModel = std::map<std::string, torch::Tensor>;
using ParameterNames = std::set<std::string>;

// The path as in motley/load_model.h. The message is one line that names the file.
Result<SavedModel> read_saved_model(const std::filesystem::path& path,
                                    const ParameterNames& parameters);

// The model in the tensors of a checkpoint: worker 0's if all workers have the same parameters,
// otherwise the mean over the workers. If they are not those of a checkpoint, all of them. Fails if
// workers have different tensors.
Result<SavedModel> model_in(const TensorMap& tensors, const ParameterNames& parameters);

}  // namespace motley
