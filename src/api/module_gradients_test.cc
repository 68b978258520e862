// A parameter without gradient is skipped, as in plain libtorch, also if it is one on all ranks.
#include "api/module_gradients.h"

#include <gtest/gtest.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/adam.h>
#include <torch/optim/sgd.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "api/module_replica.h"

namespace motley::module_gradients_test {
namespace {

// Which of its branches a step uses is given.
struct Branches : torch::nn::Module {
  Branches() {
    for (const auto& [name, branch] : all) {
      register_module(name, branch);
    }
  }
  torch::Tensor loss(const std::string& used) {
    torch::Tensor sum = torch::zeros({});
    for (const char name : used) {
      sum = sum + all.at(std::string(1, name))->forward(torch::ones({1, 3})).pow(2).sum();
    }
    return sum;
  }

  std::map<std::string, torch::nn::Linear> all{{"a", torch::nn::Linear(3, 2)},
                                               {"b", torch::nn::Linear(3, 2)},
                                               {"c", torch::nn::Linear(3, 2)}};
};

torch::optim::AdamOptions decaying() { return torch::optim::AdamOptions(0.1).weight_decay(0.3); }

// The same steps in a loop of plain libtorch.
void take_plain_steps(Branches& net, const std::vector<std::string>& steps) {
  torch::optim::Adam optimizer(net.parameters(), decaying());
  for (const std::string& used : steps) {
    optimizer.zero_grad();
    net.loss(used).backward();
    optimizer.step();
  }
}

void take_steps(Branches& net, const std::vector<std::string>& steps) {
  torch::optim::Adam optimizer(net.parameters(), decaying());
  ModuleReplica replica(net, optimizer);
  replica.begin_run();
  for (const std::string& used : steps) {
    replica.clear();
    net.loss(used).backward();
    replica.take_gradients(5);
    replica.gradient();
    replica.apply(0.2);
  }
}

std::vector<torch::Tensor> end_of(void (*take)(Branches&, const std::vector<std::string>&),
                                  const std::vector<std::string>& steps) {
  torch::manual_seed(1);
  Branches net;
  take(net, steps);
  return net.parameters();
}

TEST(ModuleGradients, UnusedParametersAreAsInPlainLibtorch) {
  for (const auto& steps : std::vector<std::vector<std::string>>{
           {"a", "a", "a"}, {"ab", "a", "b", "ab"}, {"a", "ab", "a", "a"}, {"abc", "a"}}) {
    const auto plain = end_of(take_plain_steps, steps);
    const auto moved = end_of(take_steps, steps);
    for (std::size_t i = 0; i < plain.size(); ++i) {
      EXPECT_LT((plain[i] - moved[i]).abs().max().item<float>(), 1e-6) << steps[0] << " " << i;
    }
  }
}

// What each of two ranks computes, and which parameters have no gradient in the sum.
std::string skipped_together(const std::string& one, const std::string& other) {
  Branches nets[2];
  torch::optim::SGD first_optimizer(nets[0].parameters(), 0.1);
  torch::optim::SGD second_optimizer(nets[1].parameters(), 0.1);
  ModuleReplica first(nets[0], first_optimizer);
  ModuleReplica second(nets[1], second_optimizer);
  const auto compute = [&](ModuleReplica& replica, Branches& net, const std::string& used) {
    replica.clear();
    if (used.empty()) {
      replica.take_nothing();
    } else {
      net.loss(used).backward();
      replica.take_gradients(3);
    }
    return replica.gradient().floats();
  };
  const auto sum = compute(first, nets[0], one);
  const auto added = compute(second, nets[1], other);
  std::ranges::transform(sum, added, sum.begin(), std::plus());
  std::ranges::copy(sum, added.begin());
  first.apply(0.5);
  second.apply(0.5);
  std::string skipped[2];
  for (const std::size_t rank : {0, 1}) {
    for (const auto& [name, branch] : nets[rank].all) {
      skipped[rank] += branch->weight.grad().defined() ? "" : name;
    }
  }
  EXPECT_EQ(skipped[0], skipped[1]);
  return skipped[0];
}

TEST(ModuleGradients, RanksSkipWhatNobodyHasUsed) {
  EXPECT_EQ(skipped_together("a", "a"), "bc");
  EXPECT_EQ(skipped_together("a", "b"), "c");
  EXPECT_EQ(skipped_together("abc", "a"), "");
  EXPECT_EQ(skipped_together("ab", ""), "c") << "a share without samples";
}

TEST(ModuleGradients, AGradientOfZerosIsNoMissingOne) {
  Branches net;
  torch::optim::SGD optimizer(net.parameters(), 0.1);
  ModuleReplica replica(net, optimizer);
  replica.clear();
  (net.loss("a") * -0.0).backward();
  replica.take_gradients(1);
  replica.apply(1);
  EXPECT_TRUE(net.all.at("a")->weight.grad().defined());
  EXPECT_FALSE(net.all.at("b")->weight.grad().defined());
}

// Parts of a share: what one of them uses has a gradient, also if zero_grad(true) is in the loop.
TEST(ModuleGradients, PartsOfAShareAddUp) {
  Branches net;
  torch::optim::SGD optimizer(net.parameters(), 0.1);
  ModuleReplica replica(net, optimizer);
  replica.clear();
  net.loss("a").backward();
  replica.put_aside(2);
  net.zero_grad(/*set_to_none=*/true);
  net.loss("b").backward();
  replica.take_gradients(3);
  replica.apply(0.5);
  EXPECT_TRUE(net.all.at("a")->weight.grad().defined());
  EXPECT_TRUE(net.all.at("b")->weight.grad().defined());
  EXPECT_FALSE(net.all.at("c")->weight.grad().defined());
}

// A hook may put other tensors in the place of gradients. Those must not count in the next step.
TEST(ModuleGradients, AGradientThatTheProgramReplacesIsForgotten) {
  Branches net;
  torch::optim::SGD optimizer(net.parameters(), 0.1);
  ModuleReplica replica(net, optimizer);
  torch::Tensor& gradient = net.all.at("a")->weight.mutable_grad();
  replica.set_before_step([&] { gradient = torch::full({2, 3}, 100); });
  for (int step = 0; step < 2; ++step) {
    replica.clear();
    net.all.at("a")->weight.sum().backward();
    replica.take_gradients(1);
    EXPECT_EQ(replica.gradient().data[0], 1);
    replica.apply(1);
  }
}

}  // namespace
}  // namespace motley::module_gradients_test
