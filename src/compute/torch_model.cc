#include "compute/torch_model.h"

#include "base/check.h"

namespace motley {
namespace {

void copy_numbers(const std::vector<float>& numbers, const NamedTensors& tensors) {
  const float* from = numbers.data();
  const float* end = from + numbers.size();
  for (const auto& [name, tensor] : tensors) {
    MOTLEY_CHECK(end - from >= tensor.numel(), "a snapshot of {} numbers ends in {}",
                 numbers.size(), name);
    // from_blob needs a non-const pointer, but only reads.
    tensor.copy_(torch::from_blob(const_cast<float*>(from), tensor.sizes()));
    from += tensor.numel();
  }
  MOTLEY_CHECK(from == end, "a snapshot of {} numbers is too long", numbers.size());
}

}  // namespace

torch::Tensor summed_loss(const torch::Tensor& logits, const torch::Tensor& labels) {
  return torch::cross_entropy_loss(logits, labels, {}, at::Reduction::Sum);
}

void load_snapshot(TorchModel& network, const Snapshot& snapshot) {
  const torch::NoGradGuard no_grad;
  copy_numbers(snapshot.parameters, network.parameters());
  copy_numbers(snapshot.buffers, network.buffers());
}

}  // namespace motley
