#include "compute/models.h"

#include <fmt/format.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/pooling.h>
#include <torch/serialize.h>

#include <functional>
#include <numeric>

namespace motley {
namespace {

namespace nn = torch::nn;
using Shape = std::vector<std::int64_t>;

std::int64_t features_of(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

// Overwrites its input, which no gradient needs after a linear layer, convolution or BatchNorm.
nn::ReLU relu_in_place() { return nn::ReLU(nn::ReLUOptions(true)); }

nn::Conv2d convolution(std::int64_t in, std::int64_t out, std::int64_t kernel,
                       std::int64_t stride = 1, bool bias = true) {
  return nn::Conv2d(
      nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(bias));
}

nn::Sequential make_svm(const Shape& shape, std::int64_t classes) {
  return nn::Sequential({
      {"flatten", nn::Flatten()},
      {"linear", nn::Linear(features_of(shape), classes)},
  });
}

nn::Sequential make_mlp(const Shape& shape, std::int64_t classes) {
  constexpr std::int64_t kHidden = 128;
  return nn::Sequential({
      {"flatten", nn::Flatten()},
      {"hidden", nn::Linear(features_of(shape), kHidden)},
      {"relu", relu_in_place()},
      {"output", nn::Linear(kHidden, classes)},
  });
}

nn::Sequential make_cnn(const Shape& shape, std::int64_t classes) {
  constexpr std::int64_t kFirst = 16;
  constexpr std::int64_t kSecond = 32;
  constexpr std::int64_t kHidden = 256;
  const std::int64_t pooled = kSecond * (shape[1] / 4) * (shape[2] / 4);
  return nn::Sequential({
      {"conv1", convolution(shape[0], kFirst, 5)},
      {"relu1", relu_in_place()},
      {"pool1", nn::MaxPool2d(2)},
      {"conv2", convolution(kFirst, kSecond, 5)},
      {"relu2", relu_in_place()},
      {"pool2", nn::MaxPool2d(2)},
      {"flatten", nn::Flatten()},
      {"hidden", nn::Linear(pooled, kHidden)},
      {"relu3", relu_in_place()},
      {"output", nn::Linear(kHidden, classes)},
  });
}

// Two 3x3 convolutions and a shortcut around them. If the block halves the image and adds channels,
// the shortcut takes every second pixel and fills the new channels with zeros.
struct ResidualBlockImpl : nn::Module {
  ResidualBlockImpl(std::int64_t in, std::int64_t out)
      : stride(in == out ? 1 : 2),
        new_channels(out - in),
        conv1(register_module("conv1", convolution(in, out, 3, stride, false))),
        bn1(register_module("bn1", nn::BatchNorm2d(out))),
        conv2(register_module("conv2", convolution(out, out, 3, 1, false))),
        bn2(register_module("bn2", nn::BatchNorm2d(out))) {}

  torch::Tensor forward(const torch::Tensor& x) {
    torch::Tensor y = bn1(conv1(x)).relu_();
    y = bn2(conv2(y));
    return (y + shortcut(x)).relu_();
  }

  torch::Tensor shortcut(const torch::Tensor& x) const {
    if (stride == 1) {
      return x;
    }
    using torch::indexing::Slice;
    const torch::Tensor halved =
        x.index({Slice(), Slice(), Slice(torch::indexing::None, torch::indexing::None, stride),
                 Slice(torch::indexing::None, torch::indexing::None, stride)});
    const std::int64_t before = new_channels / 2;
    return torch::constant_pad_nd(halved, {0, 0, 0, 0, before, new_channels - before});
  }

  std::int64_t stride;
  std::int64_t new_channels;
  nn::Conv2d conv1;
  nn::BatchNorm2d bn1;
  nn::Conv2d conv2;
  nn::BatchNorm2d bn2;
};
TORCH_MODULE(ResidualBlock);

nn::Sequential make_resnet20(const Shape& shape, std::int64_t classes) {
  nn::Sequential net;
  net->push_back("conv", convolution(shape[0], 16, 3, 1, false));
  net->push_back("bn", nn::BatchNorm2d(16));
  net->push_back("relu", relu_in_place());
  std::int64_t in = 16;
  for (const std::int64_t out : {16, 32, 64}) {
    for (int i = 1; i <= 3; ++i) {
      net->push_back(fmt::format("block{}_{}", out, i), ResidualBlock(in, out));
      in = out;
    }
  }
  net->push_back("pool", nn::AdaptiveAvgPool2d(1));
  net->push_back("flatten", nn::Flatten());
  net->push_back("output", nn::Linear(in, classes));
  for (const auto& module : net->modules()) {
    if (auto* conv = module->as<nn::Conv2d>()) {
      nn::init::kaiming_normal_(conv->weight, 0, torch::kFanOut, torch::kReLU);
    }
  }
  return net;
}

NamedTensors named(const torch::OrderedDict<std::string, torch::Tensor>& tensors) {
  NamedTensors all;
  for (const auto& item : tensors) {
    all.push_back({item.key(), item.value()});
  }
  return all;
}

class BuiltinModel final : public TorchModel {
 public:
  explicit BuiltinModel(nn::Sequential layers) : layers_(std::move(layers)) {}

  torch::Tensor forward(const torch::Tensor& batch) override { return layers_->forward(batch); }
  void set_training(bool on) override { layers_->train(on); }
  NamedTensors parameters() override { return named(layers_->named_parameters()); }
  NamedTensors buffers() override {
    NamedTensors floats = named(layers_->named_buffers());
    std::erase_if(floats, [](const auto& each) { return !each.tensor.is_floating_point(); });
    return floats;
  }
  NamedTensors others() override { return without(named(layers_->named_buffers()), buffers()); }
  void save(std::ostream& out) override { torch::save(layers_, out); }

 private:
  nn::Sequential layers_;
};

}  // namespace

std::unique_ptr<TorchModel> make_builtin(ModelKind kind, const Shape& shape, std::int64_t classes,
                                         std::uint64_t seed) {
  torch::manual_seed(seed);
  if (kind == ModelKind::kSvm) {
    return std::make_unique<BuiltinModel>(make_svm(shape, classes));
  }
  if (kind == ModelKind::kMlp) {
    return std::make_unique<BuiltinModel>(make_mlp(shape, classes));
  }
  if (kind == ModelKind::kCnn) {
    return std::make_unique<BuiltinModel>(make_cnn(shape, classes));
  }
  if (kind == ModelKind::kResnet20) {
    return std::make_unique<BuiltinModel>(make_resnet20(shape, classes));
  }
  return nullptr;
}

}  // namespace motley
