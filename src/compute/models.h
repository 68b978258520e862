// The built-in models. Each maps [batch, ...shape] to logits [batch, classes]; the loss is always
// cross-entropy. Parameters for Fashion-MNIST (1x28x28, 10 classes) and CIFAR-10 (3x32x32, 10
// classes):
//
//   svm        7,850    30,730   linear; with log loss in place of the hinge (two classes: two
//                                logits, which is logistic regression)
//   mlp      101,770   394,634   in-128-classes, ReLU
//   cnn      417,482   541,162   5x5 convolutions of 16 and 32 channels, each with ReLU and 2x2
//                                max-pooling, then in-256-classes
//   resnet20 269,434   269,722   He et al. 2016 (arXiv:1512.03385), section 4.2: n = 3, shortcuts
//                                without parameters (option A), BatchNorm
//
// svm and mlp flatten their input; cnn and resnet20 need images.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compute/torch_model.h"
#include "motley/job/job.h"

namespace motley {

// The initial state depends on the seed only, through torch's global generator. Returns nullptr for
// a kind that is not built in.
std::unique_ptr<TorchModel> make_builtin(ModelKind kind, const std::vector<std::int64_t>& shape,
                                         std::int64_t classes, std::uint64_t seed);

}  // namespace motley
