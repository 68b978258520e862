#include "compute/optimizer_state.h"

#include <gtest/gtest.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/lbfgs.h>
#include <torch/optim/sgd.h>

#include "compute/tensor_state.h"
#include "state/state.h"

namespace motley::optimizer_state_test {
namespace {

// A task that LBFGS does not solve at once.
class CurvedTask {
 public:
  explicit CurvedTask(torch::optim::LBFGSOptions options) : optimizer_(parameters(), options) {}

  void steps(int count) {
    for (int i = 0; i < count; ++i) {
      optimizer_.step([&] {
        optimizer_.zero_grad();
        torch::Tensor loss = (a_.pow(4).sum() + (b_ * a_.sum()).pow(2).sum() + b_.cos().sum());
        loss.backward();
        return loss;
      });
    }
  }
  void state(Archive& archive) {
    tensor_state(archive, "a", a_);
    tensor_state(archive, "b", b_);
    OptimizerState optimizer(optimizer_);
    archive("optimizer", optimizer);
  }
  torch::Tensor all() const { return torch::cat({a_.detach(), b_.detach()}); }

 private:
  std::vector<torch::Tensor> parameters() const { return {a_, b_}; }

  torch::Tensor a_ = torch::linspace(1, 2, 3).requires_grad_();
  torch::Tensor b_ = torch::linspace(-1, 1, 4).requires_grad_();
  torch::optim::LBFGS optimizer_;
};

TEST(OptimizerState, LbfgsGoesOn) {
  const auto options = torch::optim::LBFGSOptions(0.3).max_iter(2).history_size(3);
  for (auto each : {options, torch::optim::LBFGSOptions(options).line_search_fn("strong_wolfe")}) {
    for (const int before : {0, 1, 2, 5}) {
      CurvedTask first(each);
      first.steps(before);
      State state = state_of(first);
      state.values = nlohmann::json::parse(state.values.dump());
      first.steps(3);
      CurvedTask second(each);
      second.steps(1);  // what it had before must not matter
      restore(second, state);
      second.steps(3);
      EXPECT_TRUE(torch::equal(first.all(), second.all())) << first.all() << second.all();
      EXPECT_TRUE(state_of(first) == state_of(second));
    }
  }
}

TEST(OptimizerState, OfOtherGroupsIsRefused) {
  torch::nn::Linear layer(2, 2);
  torch::optim::SGD one(layer->parameters(), 0.1);
  torch::optim::SGD two({torch::optim::OptimizerParamGroup({layer->weight}),
                         torch::optim::OptimizerParamGroup({layer->bias})},
                        0.1);
  OptimizerState of_one(one);
  OptimizerState of_two(two);
  try {
    restore(of_two, state_of(of_one));
    FAIL();
  } catch (const StateError& error) {
    EXPECT_STREQ(error.what(),
                 "the optimizer has groups of [1, 1] parameters, but the state is of one with [2]");
  }
}

// Derived from one of torch's: its save() is torch's.
class DerivedSgd : public torch::optim::SGD {
  using SGD::SGD;
};

TEST(OptimizerState, DamagedBytesOfTorchAreRefused) {
  torch::nn::Linear layer(2, 2);
  DerivedSgd optimizer(layer->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  layer->forward(torch::ones({1, 2})).sum().backward();
  optimizer.step();
  OptimizerState object(optimizer);
  State state = state_of(object);
  EXPECT_NO_THROW(restore(object, state));
  EXPECT_EQ(optimizer.state().size(), 2U);
  state.tensors["torch"].bytes.resize(state.tensors["torch"].bytes.size() / 2);
  EXPECT_THROW(restore(object, state), StateError);
}

struct Typed {
  NamedTensors tensors;
  void state(Archive& archive) { tensor_states(archive, "t.", tensors); }
};

TEST(TensorState, KeepsEveryType) {
  for (const auto type :
       {torch::kFloat, torch::kDouble, torch::kHalf, torch::kBFloat16, torch::kBool, torch::kByte,
        torch::kChar, torch::kShort, torch::kInt, torch::kLong}) {
    const torch::Tensor values = torch::tensor({{-2.5, 0.0, 1.0}, {7.25, 100.0, 3.0}}).to(type);
    Typed saved{{{"whole", values}, {"turned", values.t()}, {"none", values.slice(0, 0, 0)}}};
    const torch::Tensor whole = torch::zeros({2, 3}, type);
    const torch::Tensor turned = torch::zeros({2, 3}, type).t();
    Typed restored{{{"whole", whole}, {"turned", turned}, {"none", torch::zeros({0, 3}, type)}}};
    restore(restored, state_of(saved));
    EXPECT_TRUE(torch::equal(whole, values)) << type;
    EXPECT_TRUE(torch::equal(turned, values.t())) << type;
  }
}

TEST(TensorState, WhatCannotBeSavedIsNamed) {
  Typed complex{{{"z", torch::zeros({2}, torch::kComplexFloat)}}};
  try {
    state_of(complex);
    FAIL();
  } catch (const StateError& error) {
    EXPECT_STREQ(error.what(), "the tensor t.z is ComplexFloat, which cannot be saved");
  }
}

}  // namespace
}  // namespace motley::optimizer_state_test
