#include "api/module_replica.h"

#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/lbfgs.h>
#include <torch/optim/sgd.h>
#include <torch/serialize.h>

#include <algorithm>
#include <sstream>

#include "motley/base/failure.h"

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

TEST_F(ModuleReplicaTest, SettingsAreThoseOfTheOptimizerAndWhatIsFrozen) {
  EXPECT_EQ(replica.settings(),
            "optimizer torch::optim::SGD\n"
            "optimizer.group0.parameters 4 (fc1.weight to bn.bias)\n"
            "optimizer.group0.lr 0.5\n"
            "optimizer.group0.momentum 0\n"
            "optimizer.group0.dampening 0\n"
            "optimizer.group0.weight_decay 0\n"
            "optimizer.group0.nesterov 0\n"
            "fixed.weight 2x2 frozen\n");
}

std::string read_again(torch::nn::Module& net, float value) {
  SmallNet other;
  const torch::NoGradGuard no_grad;
  for (const auto& each : other.parameters()) {
    each.fill_(value);
  }
  for (const auto& each : other.buffers()) {
    each.fill_(value);
  }
  torch::serialize::OutputArchive out;
  other.save(out);
  std::stringstream text;
  out.save_to(text);
  torch::serialize::InputArchive in;
  in.load_from(text);
  net.load(in);
  return text.str();
}

// Both give the tensors new storage.
TEST_F(ModuleReplicaTest, TakesWhatIsLoadedBeforeTheRun) {
  read_again(net, 3);
  net.bn->running_var.set_data(torch::full({2}, 5.0));
  replica.begin_run();
  EXPECT_EQ(replica.parameters().data[6], 3);
  EXPECT_EQ(replica.buffers().data[0], 3);
  EXPECT_EQ(replica.buffers().data[2], 5);
  replica.check();
  replica.parameters().data[6] = 4;
  EXPECT_EQ(net.fc1->bias[0].item<float>(), 4) << "it is attached again";
}

template <class Call>
std::string why_refused(const Call& call) {
  try {
    call();
  } catch (const Refused& refused) {
    return refused.what();
  }
  return "not refused";
}

TEST_F(ModuleReplicaTest, RefusesWhatIsLoadedDuringTheRun) {
  replica.begin_run();
  replica.clear();
  read_again(net, 3);
  for (const std::string& why :
       {why_refused([&] { replica.take_gradients(1); }), why_refused([&] { replica.check(); })}) {
    EXPECT_TRUE(why.starts_with("parameter fc1.weight was given other memory during the run"))
        << why;
  }
}

// Each rank has its own statistics, so new memory is no harm.
TEST_F(ModuleReplicaTest, TakesABufferWithOtherMemoryDuringTheRun) {
  replica.begin_run();
  net.bn->running_var.set_data(torch::full({2}, 5.0));
  replica.check();
  EXPECT_EQ(replica.buffers().data[2], 5);
  EXPECT_EQ(net.bn->running_var.data_ptr<float>(), replica.buffers().data + 2);
  net.bn->running_var.set_data(torch::full({3}, 5.0));
  EXPECT_EQ(why_refused([&] { replica.check(); }),
            "buffer bn.running_var has another shape or type than at the start of training");
}

TEST_F(ModuleReplicaTest, RefusesAnotherSetOfParametersDuringTheRun) {
  replica.begin_run();
  const auto expect_refused = [&](const std::string& begin) {
    const std::string why = why_refused([&] { replica.check(); });
    EXPECT_TRUE(why.starts_with(begin + ", but a trainer")) << why;
  };
  net.fixed->weight.set_requires_grad(true);
  expect_refused("parameter fixed.weight is to be trained now");
  net.fixed->weight.set_requires_grad(false);
  replica.check();
  net.fc1->bias.set_requires_grad(false);
  expect_refused("parameter fc1.bias is frozen now");
  net.fc1->bias.set_requires_grad(true);
  net.replace_module("fixed", torch::nn::Linear(2, 2));
  expect_refused("parameter fixed.weight is another tensor now");
  net.replace_module("fixed", net.fixed);
  replica.check();
  optimizer.add_param_group(torch::optim::OptimizerParamGroup({torch::zeros({2})}));
  expect_refused("the optimizer has a new group 1 of 1 parameters");
}

TEST_F(ModuleReplicaTest, RefusesANewParameterDuringTheRun) {
  replica.begin_run();
  net.fixed->register_parameter("lazy", torch::zeros({2}));
  const std::string why = why_refused([&] { replica.check(); });
  EXPECT_TRUE(why.starts_with("parameter fixed.lazy is new, but a trainer")) << why;
}

// A program that has put finish() into its loop, but has left step() there.
TEST_F(ModuleReplicaTest, RefusesAStepThatTheProgramTakes) {
  replica.begin_run();
  replica.clear();
  net.fc1->bias.sum().backward();
  optimizer.step();
  const std::string why = why_refused([&] { replica.take_gradients(1); });
  EXPECT_TRUE(why.starts_with("parameter fc1.bias was changed between begin() and finish()"))
      << why;
}

TEST_F(ModuleReplicaTest, WarnsOnceOfAChangeBetweenTwoSteps) {
  replica.begin_run();
  testing::internal::CaptureStderr();
  for (int step = 0; step < 3; ++step) {
    replica.check();
    replica.clear();
    net.fc1->bias.sum().backward();
    replica.take_gradients(1);
    replica.apply(1);
    replica.end_step();
    replica.check();
    const torch::NoGradGuard no_grad;
    net.fc1->bias.clamp_(-1, 1);
  }
  replica.check();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(said.starts_with("motley: warning: the program has changed parameter fc1.bias"))
      << said;
  EXPECT_EQ(std::ranges::count(said, '\n'), 1);
}

TEST_F(ModuleReplicaTest, AMissingBackwardIsNoticed) {
  replica.begin_run();
  replica.clear();
  EXPECT_EQ(why_refused([&] { replica.take_gradients(1); }),
            "no parameter has got a gradient: call loss.backward() before finish()");
  const auto step = [&](bool computes) {
    replica.clear();
    if (computes) {
      net.fc1->bias.sum().backward();
    }
    testing::internal::CaptureStderr();
    replica.take_gradients(1);
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(step(true), "");
  EXPECT_TRUE(step(false).starts_with("motley: warning: no parameter has got a gradient"));
  EXPECT_EQ(step(false), "");
}

TEST_F(ModuleReplicaTest, OptimizersWithAClosureAreRefused) {
  torch::optim::LBFGS closure(net.parameters());
  const std::string why = why_refused([&] { ModuleReplica other(net, closure); });
  EXPECT_TRUE(why.starts_with("the optimizer LBFGS computes the loss several times")) << why;
}

}  // namespace
}  // namespace motley
