#include "api/module_replica.h"

#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>

namespace motley {
namespace {

struct SmallNet : torch::nn::Module {
  SmallNet() {
    register_module("fc1", fc1);
    register_module("bn", bn);
    register_module("fixed", fixed);
    register_module("again", fc1);
    fixed->weight.set_requires_grad(false);
  }

  torch::nn::Linear fc1{3, 2};
  torch::nn::BatchNorm1d bn{2};
  torch::nn::Linear fixed{torch::nn::LinearOptions(2, 2).bias(false)};
};

class ModuleReplicaTest : public testing::Test {
 protected:
  SmallNet net;
  torch::optim::SGD optimizer{net.parameters(), 0.5};
  ModuleReplica replica{net, optimizer};
};

// What two modules share is one tensor; what is frozen and counters are none.
TEST_F(ModuleReplicaTest, KnowsWhatItTrainsAndItsFloatBuffers) {
  const auto in = TensorInfo::In::kBuffers;
  EXPECT_EQ(replica.tensors(), (std::vector<TensorInfo>{
                                   {.name = "fc1.weight", .shape = {2, 3}},
                                   {.name = "fc1.bias", .shape = {2}, .offset = 6},
                                   {.name = "bn.weight", .shape = {2}, .offset = 8},
                                   {.name = "bn.bias", .shape = {2}, .offset = 10},
                                   {.name = "bn.running_mean", .shape = {2}, .in = in},
                                   {.name = "bn.running_var", .shape = {2}, .in = in, .offset = 2},
                               }));
  EXPECT_EQ(replica.parameters().size, 12U);
  EXPECT_EQ(replica.parameters().data + 8, net.bn->weight.data_ptr<float>());
  EXPECT_EQ(replica.buffers().data + 2, net.bn->running_var.data_ptr<float>());
}

// The parts of a share add up, whatever clears the gradients in between; the next share begins
// anew.
TEST_F(ModuleReplicaTest, AddsUpTheGradientsOfParts) {
  const auto compute = [&](float gradient) {
    optimizer.zero_grad();
    (gradient * net.fc1->bias.sum()).backward();
  };
  for (int step = 0; step < 2; ++step) {
    replica.clear();
    compute(3);
    replica.put_aside(4);
    compute(1);
    replica.put_aside(2);
    compute(5);
    replica.take_gradients(3);
    EXPECT_EQ(replica.gradient().data[6], 3 * 4 + 1 * 2 + 5 * 3);
    EXPECT_EQ(replica.gradient().data[0], 0);
  }
  replica.clear();
  compute(5);
  replica.take_gradients(3);
  EXPECT_EQ(replica.gradient().data[6], 15) << "a share of one part";
}

TEST_F(ModuleReplicaTest, SettingsAreTheOptimizerAndWhatIsFrozen) {
  const std::string settings = replica.settings();
  EXPECT_EQ(settings.find("optimizer torch::optim::SGD with learning rate 0.5\n"), 0U);
  EXPECT_NE(settings.find("\nfixed.weight 2x2 frozen "), std::string::npos);
  EXPECT_EQ(settings.find("fc1"), std::string::npos);
  {
    const torch::NoGradGuard no_grad;
    net.fixed->weight[0][0] += 1;
  }
  EXPECT_NE(replica.settings(), settings) << "frozen numbers count";
}

}  // namespace
}  // namespace motley
