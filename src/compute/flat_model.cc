#include "compute/flat_model.h"

#include <cstdint>
#include <string>
#include <utility>

#include "base/check.h"
#include "motley/base/failure.h"

namespace motley {
namespace {

// Consecutive windows onto `block` with the shapes of `tensors`. Each is a tensor of its own for
// torch, not a view: zero_grad() does not accept views, and saving a view saves all its storage.
std::vector<torch::Tensor> windows_like(const std::vector<torch::Tensor>& tensors,
                                        const torch::Tensor& block) {
  std::vector<torch::Tensor> windows;
  float* at = block.numel() > 0 ? block.data_ptr<float>() : nullptr;
  for (const torch::Tensor& tensor : tensors) {
    const auto keep = [block](void*) {};  // keeps the block alive as long as the window
    windows.push_back(torch::from_blob(at, tensor.sizes(), keep));
    at += tensor.numel();
  }
  return windows;
}

// Copies the tensors' numbers into a new block and makes it their storage.
torch::Tensor flatten(const std::vector<torch::Tensor>& tensors) {
  std::int64_t size = 0;
  for (const torch::Tensor& tensor : tensors) {
    size += tensor.numel();
  }
  torch::Tensor block = torch::empty({size});
  const auto windows = windows_like(tensors, block);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    windows[i].copy_(tensors[i].detach());
    tensors[i].set_data(windows[i]);
  }
  return block;
}

std::vector<torch::Tensor> handles(const NamedTensors& tensors) {
  std::vector<torch::Tensor> handles;
  for (const NamedTensor& each : tensors) {
    handles.push_back(each.tensor);
  }
  return handles;
}

// Where flatten() puts them.
void append_infos(std::vector<TensorInfo>& infos, const NamedTensors& tensors, TensorInfo::In in) {
  std::size_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    infos.push_back({.name = name, .shape = tensor.sizes().vec(), .in = in, .offset = offset});
    offset += infos.back().size();
  }
}

Block block_of(const torch::Tensor& tensor) {
  if (tensor.numel() == 0) {
    return {};
  }
  return {tensor.data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

}  // namespace

FlatModel::FlatModel(const NamedTensors& parameters, const NamedTensors& buffers)
    : tensors_(handles(parameters)),
      parameters_(flatten(tensors_)),
      buffer_tensors_(handles(buffers)),
      buffers_(flatten(buffer_tensors_)),
      buffer_windows_(windows_like(buffer_tensors_, buffers_)) {
  append_infos(infos_, parameters, TensorInfo::In::kParameters);
  append_infos(infos_, buffers, TensorInfo::In::kBuffers);
  gradient_ = torch::zeros({parameters_.numel() + static_cast<std::int64_t>(Replica::kTail)});
  summands_ = gradient_.narrow(0, 0, parameters_.numel());
  gradients_ = windows_like(tensors_, summands_);
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    // torch accumulates into a defined gradient of the right shape instead of replacing it.
    tensors_[i].mutable_grad() = gradients_[i];
  }
  for (const torch::Tensor& block : {parameters_, gradient_}) {
    MOTLEY_CHECK(reinterpret_cast<std::uintptr_t>(block.data_ptr()) % 64 == 0,
                 "torch no longer aligns tensors to 64 bytes");
  }
}

Block FlatModel::parameters() const { return block_of(parameters_); }
Block FlatModel::gradient() const { return block_of(gradient_); }
Block FlatModel::tail() const {
  const Block all = gradient();
  return all.part(all.size - Replica::kTail, Replica::kTail);
}
Block FlatModel::buffers() const { return block_of(buffers_); }

void FlatModel::gather_gradients() {
  const float* place = summands_.data_ptr<float>();
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    torch::Tensor& grad = tensors_[i].mutable_grad();
    if (!grad.defined()) {
      gradients_[i].zero_();
      grad = gradients_[i];
    } else if (grad.is_sparse()) {
      throw Refused("a gradient is sparse; motley can exchange only dense gradients");
    } else if (grad.data_ptr<float>() != place) {
      gradients_[i].copy_(grad.detach());
      grad = gradients_[i];
    }
    place += tensors_[i].numel();
  }
}

void FlatModel::gather_buffers() {
  for (std::size_t i = 0; i < buffer_tensors_.size(); ++i) {
    torch::Tensor& buffer = buffer_tensors_[i];
    torch::Tensor& window = buffer_windows_[i];
    if (buffer.unsafeGetTensorImpl()->data() == window.unsafeGetTensorImpl()->data()) {
      continue;
    }
    const std::string& name = infos_[tensors_.size() + i].name;
    if (buffer.sizes() != window.sizes() || buffer.scalar_type() != torch::kFloat) {
      throw Refused("buffer " + name + " has another shape or type than at the start of training");
    }
    window.copy_(buffer.detach());
    buffer.set_data(window);
  }
}

std::vector<GradientWindow> FlatModel::gradient_windows() const {
  std::vector<GradientWindow> windows;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    windows.push_back({tensors_[i], gradients_[i]});
  }
  return windows;
}

}  // namespace motley
