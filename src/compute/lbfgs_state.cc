#include "compute/lbfgs_state.h"

#include <deque>
#include <string>

#include "compute/tensor_state.h"

namespace motley {
namespace {

// A number, or one number for each of all parameters. LBFGS begins with the integer 1 for a number
// that is a float later.
class FlatTensor {
 public:
  FlatTensor(torch::Tensor& tensor, std::int64_t size, torch::ScalarType type)
      : tensor_(tensor), size_(size), type_(type) {}

  void state(Archive& archive) {
    bool is_there = tensor_.defined();
    archive("is_there", is_there);
    if (!is_there) {
      tensor_ = torch::Tensor();
      return;
    }
    bool is_single = archive.is_saving() && tensor_.dim() == 0;
    bool is_integer = archive.is_saving() && !tensor_.is_floating_point();
    archive("is_single", is_single);
    archive("is_integer", is_integer);
    if (!archive.is_saving()) {
      const auto type = is_integer ? torch::kLong : type_;
      tensor_ = is_single ? torch::empty({}, type) : torch::empty({size_}, type);
    }
    tensor_state(archive, "values", tensor_);
  }

 private:
  torch::Tensor& tensor_;
  const std::int64_t size_;  // of all parameters
  const torch::ScalarType type_;
};

class LbfgsState {
 public:
  LbfgsState(torch::optim::LBFGSParamState& state, const std::vector<torch::Tensor>& parameters)
      : state_(state), type_(parameters.front().scalar_type()) {
    for (const torch::Tensor& each : parameters) {
      size_ += each.numel();
    }
  }

  // Its `al` is left out: every step writes it before it reads it.
  void state(Archive& archive) {
    archive("func_evals", state_.func_evals());
    archive("n_iter", state_.n_iter());
    archive("t", state_.t());
    archive("prev_loss", state_.prev_loss());
    tensor(archive, "d", state_.d());
    tensor(archive, "H_diag", state_.H_diag());
    tensor(archive, "prev_flat_grad", state_.prev_flat_grad());
    list(archive, "old_dirs", state_.old_dirs());
    list(archive, "old_stps", state_.old_stps());
    list(archive, "ro", state_.ro());
  }

 private:
  void tensor(Archive& archive, const std::string& name, torch::Tensor& tensor) {
    FlatTensor flat(tensor, size_, type_);
    archive(name, flat);
  }

  void list(Archive& archive, const std::string& name, std::deque<torch::Tensor>& tensors) {
    std::size_t count = tensors.size();
    archive(name + "_count", count);
    if (!archive.is_saving()) {
      tensors.clear();
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (!archive.is_saving()) {
        tensors.emplace_back();
      }
      tensor(archive, name + "_" + std::to_string(i), tensors[i]);
    }
  }

  torch::optim::LBFGSParamState& state_;
  std::int64_t size_ = 0;
  const torch::ScalarType type_;
};

}  // namespace

// torch makes the state in the first step, and keeps it with the first parameter.
void lbfgs_state(Archive& archive, torch::optim::LBFGS& optimizer) {
  const std::vector<torch::Tensor>& parameters = optimizer.param_groups().front().params();
  bool is_there = !optimizer.state().empty();
  archive("is_there", is_there);
  if (!is_there) {
    optimizer.state().clear();
    return;
  }
  const std::string key = c10::guts::to_string(parameters.front().unsafeGetTensorImpl());
  if (!archive.is_saving()) {
    optimizer.state()[key] = std::make_unique<torch::optim::LBFGSParamState>();
  }
  LbfgsState state(static_cast<torch::optim::LBFGSParamState&>(*optimizer.state().at(key)),
                   parameters);
  archive("state", state);
}

}  // namespace motley
