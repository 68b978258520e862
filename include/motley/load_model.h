// load_model: fills a torch module with a model that motley has saved, for inference.
//
//   Net model;
//   motley::load_model("runs/mine", model);
//   model.eval();
//
// The path is one of these:
//   a run directory            the newest model in it: model.pt or the newest checkpoint
//   RUN/checkpoints            the newest checkpoint
//   RUN/checkpoints/500        that checkpoint
//   tensors.safetensors        of a checkpoint, or any file of that format with the module's names
//   model.pt                   of a run directory, or any file of torch.jit.save or torch::save
//
// Parameters and buffers are filled by name; the tensors stay the same tensors. A checkpoint has
// the model of every worker. If all have the same parameters, the module gets the model of worker
// 0. Otherwise it gets the mean over the workers, as at the end of a run whose workers have models
// of their own; what is not a float, such as a counter, is that of worker 0.
//
// A checkpoint that is damaged is passed over where the newest one was asked for, and a line on
// stderr says so.
//
// Failure: throws Refused with one line that names the file and the tensor, if the module and the
// file do not have the same names and shapes. Then the module is unchanged.
#pragma once

#include "motley/base/cxx20.h"

#include <torch/nn/module.h>

#include <filesystem>
#include <type_traits>

namespace motley {

void load_model(const std::filesystem::path& path, torch::nn::Module& module);

// For a std::shared_ptr to a module, and for a TORCH_MODULE holder.
template <class Pointer>
requires(!std::is_base_of_v<torch::nn::Module, Pointer>) void load_model(
    const std::filesystem::path& path, Pointer& module) {
  load_model(path, static_cast<torch::nn::Module&>(*module));
}

}  // namespace motley
