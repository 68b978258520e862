// What is no torch::nn::Module is trained as one.
#include "motley/modules.h"

#include <gtest/gtest.h>
#include <torch/optim/sgd.h>

#include <memory>

#include "api/module_replica.h"
#include "motley/base/failure.h"

namespace motley::modules_test {
namespace {

torch::jit::Module scripted_line() {
  const auto classes = std::make_shared<torch::jit::CompilationUnit>();
  torch::jit::Module inner("__torch__.Inner", classes);
  inner.register_attribute("training", c10::BoolType::get(), true);
  inner.register_parameter("w", torch::full({1}, 2.0), /*is_buffer=*/false);
  inner.register_buffer("count", torch::zeros({1}));
  inner.define("def forward(self, x):\n  return x * self.w + self.count\n");
  torch::jit::Module outer("__torch__.Outer", classes);
  outer.register_attribute("training", c10::BoolType::get(), true);
  outer.register_module("inner", inner);
  outer.define("def forward(self, x):\n  return self.inner.forward(x)\n");
  return outer;
}

TEST(Modules, ATorchScriptModuleIsTrained) {
  torch::jit::Module script = scripted_line();
  script.attr("inner").toModule().attr("w").toTensor().set_requires_grad(true);
  const auto model = scripted(script);
  torch::optim::SGD optimizer(model->parameters(), 0.5);
  ModuleReplica replica(*model, optimizer);
  replica.begin_run();
  EXPECT_EQ(replica.tensors()[0].name, "inner.w");
  EXPECT_EQ(replica.tensors()[1].name, "inner.count");
  replica.clear();
  const auto output = [&] { return script.forward({torch::ones({1})}).toTensor(); };
  output().sum().backward();
  replica.take_gradients(1);
  replica.apply(1);
  EXPECT_EQ(output().item<float>(), 1.5) << "2 - 0.5 * 1";
  replica.buffers().data[0] = 10;
  EXPECT_EQ(output().item<float>(), 11.5) << "the script sees what motley writes";
}

TEST(Modules, ItsPartsKeepTheirModes) {
  torch::jit::Module script = scripted_line();
  torch::jit::Module inner = script.attr("inner").toModule();
  inner.attr("w").toTensor().set_requires_grad(true);
  inner.eval();
  const auto model = scripted(script);
  torch::optim::SGD optimizer(model->parameters(), 0.5);
  ModuleReplica replica(*model, optimizer);
  replica.with(snapshot_of(replica), [&] { EXPECT_FALSE(script.is_training()); });
  EXPECT_TRUE(script.is_training());
  EXPECT_FALSE(inner.is_training());
}

TEST(Modules, TensorsAreTrained) {
  torch::Tensor w = torch::ones({2}, torch::requires_grad());
  torch::Tensor b = torch::zeros({1}, torch::requires_grad());
  const torch::Tensor mean = torch::zeros({1});
  const auto model = tensors({{"line.w", w}, {"line.b", b}}, {{"mean", mean}});
  torch::optim::SGD optimizer(std::vector<torch::Tensor>{w, b}, 0.5);
  ModuleReplica replica(*model, optimizer);
  replica.begin_run();
  EXPECT_EQ(replica.tensors()[0].name, "line.w");
  EXPECT_EQ(replica.buffers().data, mean.data_ptr<float>());
  replica.clear();
  (w.sum() + b).backward();
  replica.take_gradients(1);
  replica.apply(1);
  EXPECT_EQ(w[1].item<float>(), 0.5);
  EXPECT_EQ(b.item<float>(), -0.5);
}

TEST(Modules, WhatCannotBeAParameterIsRefused) {
  const torch::Tensor w = torch::ones({2}, torch::requires_grad());
  EXPECT_THROW(tensors({{"w", w}, {"w", w}}), Refused);
  EXPECT_THROW(tensors({{"", w}}), Refused);
  EXPECT_THROW(tensors({{"w", w * 2}}), Refused);
}

}  // namespace
}  // namespace motley::modules_test
