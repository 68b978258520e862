// A replica that goes on from the state of another one takes the same steps, bit by bit.
#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/schedulers/step_lr.h>
#include <torch/optim/sgd.h>
#include <torch/serialize.h>

#include "api/module_replica.h"
#include "api/module_tensors.h"
#include "api/program_state.h"
#include "state/state.h"

namespace motley::module_state_test {
namespace {

namespace optim = torch::optim;

struct DropoutNet : torch::nn::Module {
  DropoutNet() {
    register_module("frozen", frozen);
    register_module("fc1", fc1);
    register_module("bn", bn);
    register_module("drop", drop);
    register_module("fc2", fc2);
    frozen->weight.set_requires_grad(false);
    frozen->bias.set_requires_grad(false);
    scale = register_buffer("scale", torch::rand({1}, torch::kDouble));
  }
  torch::Tensor forward(const torch::Tensor& x) {
    const auto hidden = drop(torch::relu(bn(fc1(frozen(x)))));
    return fc2(hidden) * scale.to(torch::kFloat);
  }

  torch::nn::Linear frozen{5, 5};
  torch::nn::Linear fc1{5, 7};
  torch::nn::BatchNorm1d bn{7};
  torch::nn::Dropout drop{0.3};
  torch::nn::Linear fc2{7, 2};
  torch::Tensor scale;
};

using Parameters = std::vector<torch::Tensor>;
using MakeOptimizer = std::function<std::unique_ptr<optim::Optimizer>(const Parameters&)>;

template <class Optimizer, class OptimizerOptions>
MakeOptimizer maker(OptimizerOptions options) {
  return [options](const Parameters& parameters) {
    return std::make_unique<Optimizer>(parameters, options);
  };
}

// A program: the order in which it draws random numbers is its own, and all begin differently.
class ModuleLearner {
 public:
  ModuleLearner(const MakeOptimizer& make, std::uint64_t seed)
      : net_((torch::manual_seed(seed), std::make_unique<DropoutNet>())),
        optimizer_(make(net_->parameters())),
        schedule_(*optimizer_, 3, 0.5),
        replica_(*net_, *optimizer_) {
    program_.add("schedule", schedule_);
    replica_.set_more_state([this](Archive& archive) { archive("program", program_); });
  }

  void steps(std::int64_t from, std::int64_t to) {
    for (std::int64_t step = from; step < to; ++step) {
      at::Generator data = at::detail::createCPUGenerator(static_cast<std::uint64_t>(step));
      replica_.clear();
      net_->forward(torch::randn({8, 5}, data)).pow(2).mean().backward();
      replica_.take_gradients(8);
      replica_.apply(1.0 / 8);
      if (has_schedule_) {
        schedule_.step();
      }
    }
  }

  void without_schedule() { has_schedule_ = false; }
  DropoutNet& net() { return *net_; }
  optim::Optimizer& optimizer() { return *optimizer_; }
  ModuleReplica& replica() { return replica_; }

 private:
  std::unique_ptr<DropoutNet> net_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  optim::StepLR schedule_;
  ModuleReplica replica_;
  ProgramState program_;
  bool has_schedule_ = true;
};

// As a checkpoint on disk: its values are text.
State saved(ModuleReplica& replica) {
  State state = state_of(replica);
  state.values = nlohmann::json::parse(state.values.dump());
  return state;
}

void expect_equal(const torch::nn::Module& one, const torch::nn::Module& other) {
  const NamedTensors first = tensors_of(one);
  const NamedTensors second = tensors_of(other);
  ASSERT_EQ(first.size(), second.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_TRUE(torch::equal(first[i].tensor, second[i].tensor)) << first[i].name;
  }
}

// 4 steps; then 7 more, in the same replica and in another one that gets its state.
void expect_to_go_on(const MakeOptimizer& make, bool has_schedule = true) {
  for (const std::int64_t before : {0, 1, 4}) {
    ModuleLearner first(make, 1);
    ModuleLearner second(make, 2);
    if (!has_schedule) {
      first.without_schedule();
      second.without_schedule();
    }
    torch::manual_seed(3);
    first.steps(0, before);
    const State state = saved(first.replica());
    first.steps(before, before + 7);
    torch::manual_seed(4);
    second.steps(20, 23);  // what it had before must not matter
    restore(second.replica(), state);
    second.steps(before, before + 7);
    expect_equal(first.net(), second.net());
    EXPECT_EQ(first.net().bn->num_batches_tracked.item<std::int64_t>(), before + 7);
  }
}

TEST(ModuleState, GoesOnWithSgd) {
  expect_to_go_on(maker<optim::SGD>(optim::SGDOptions(0.1)));
  expect_to_go_on(maker<optim::SGD>(optim::SGDOptions(0.1).momentum(0.9)));
  expect_to_go_on(maker<optim::SGD>(optim::SGDOptions(0.1).momentum(0.9).nesterov(true)));
}

TEST(ModuleState, GoesOnWithAdam) {
  expect_to_go_on(maker<optim::Adam>(optim::AdamOptions(0.01)));
  expect_to_go_on(maker<optim::Adam>(optim::AdamOptions(0.01).amsgrad(true).weight_decay(0.1)));
}

TEST(ModuleState, GoesOnWithAdamW) {
  expect_to_go_on(maker<optim::AdamW>(optim::AdamWOptions(0.01)));
  expect_to_go_on(maker<optim::AdamW>(optim::AdamWOptions(0.01).amsgrad(true)));
}

TEST(ModuleState, GoesOnWithAdagrad) {
  expect_to_go_on(maker<optim::Adagrad>(optim::AdagradOptions(0.05).lr_decay(0.01)));
}

TEST(ModuleState, GoesOnWithRmsprop) {
  expect_to_go_on(maker<optim::RMSprop>(optim::RMSpropOptions(0.01)));
  expect_to_go_on(maker<optim::RMSprop>(optim::RMSpropOptions(0.01).momentum(0.9).centered(true)));
}

// Momentum in members that torch does not know of.
class OwnOptimizer : public optim::Optimizer {
 public:
  explicit OwnOptimizer(const Parameters& parameters)
      : Optimizer({optim::OptimizerParamGroup(parameters)},
                  std::make_unique<optim::SGDOptions>(0.1)) {
    for (const torch::Tensor& each : parameters) {
      velocities_.push_back(torch::zeros_like(each));
    }
  }

  torch::Tensor step(LossClosure = nullptr) override {
    const torch::NoGradGuard no_grad;
    const std::vector<torch::Tensor>& all = param_groups_[0].params();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].grad().defined()) {
        velocities_[i].mul_(0.9).add_(all[i].grad());
        torch::Tensor parameter = all[i];
        parameter.sub_(velocities_[i], param_groups_[0].options().get_lr());
      }
    }
    return {};
  }
  void save(torch::serialize::OutputArchive& archive) const override {
    for (std::size_t i = 0; i < velocities_.size(); ++i) {
      archive.write(std::to_string(i), velocities_[i]);
    }
  }
  void load(torch::serialize::InputArchive& archive) override {
    for (std::size_t i = 0; i < velocities_.size(); ++i) {
      archive.read(std::to_string(i), velocities_[i]);
    }
  }

 private:
  std::vector<torch::Tensor> velocities_;
};

TEST(ModuleState, GoesOnWithAnOptimizerOfTheProgram) {
  const auto make = [](const Parameters& parameters) {
    return std::make_unique<OwnOptimizer>(parameters);
  };
  expect_to_go_on(make);
  expect_to_go_on(make, false);
  ModuleLearner learner(make, 1);
  EXPECT_TRUE(saved(learner.replica()).tensors.contains("optimizer.torch"));
}

// It uses torch's state(), and has neither save() nor load().
class ForgetfulOptimizer : public optim::Optimizer {
 public:
  explicit ForgetfulOptimizer(const Parameters& parameters)
      : Optimizer({optim::OptimizerParamGroup(parameters)},
                  std::make_unique<optim::SGDOptions>(0.1)) {}
  torch::Tensor step(LossClosure = nullptr) override {
    state_["counter"] = std::make_unique<optim::SGDParamState>();
    return {};
  }
};

TEST(ModuleState, AnOptimizerThatSavesNothingIsNoticed) {
  const auto make = [](const Parameters& parameters) {
    return std::make_unique<ForgetfulOptimizer>(parameters);
  };
  ModuleLearner learner(make, 1);
  saved(learner.replica());
  EXPECT_FALSE(learner.replica().optimizer_is_lost()) << "it has nothing to save yet";
  learner.steps(0, 1);
  const State state = saved(learner.replica());
  EXPECT_TRUE(learner.replica().optimizer_is_lost());
  try {
    restore(learner.replica(), state);
    FAIL();
  } catch (const StateError& error) {
    EXPECT_NE(std::string(error.what()).find("its save() writes nothing"), std::string::npos);
  }
}

TEST(ModuleState, HasEveryTensorByNameAndShape) {
  ModuleLearner learner(maker<optim::Adam>(optim::AdamOptions(0.01)), 1);
  learner.steps(0, 1);
  const State state = saved(learner.replica());
  for (const auto& [name, tensor] : tensors_of(learner.net())) {
    const auto found = state.tensors.find("model." + name);
    ASSERT_NE(found, state.tensors.end()) << name;
    EXPECT_EQ(found->second.shape, tensor.sizes().vec()) << name;
  }
  EXPECT_EQ(state.tensors.at("model.bn.num_batches_tracked").type, ElementType::kInt64);
  EXPECT_EQ(state.tensors.at("model.scale").type, ElementType::kFloat64);
  EXPECT_EQ(state.tensors.at("optimizer.2.exp_avg").shape, (std::vector<std::int64_t>{7, 5}));
}

TEST(ModuleState, ALearningRateThatTheProgramHasChangedIsTheNewOne) {
  const auto rate = [](ModuleLearner& learner) {
    return learner.optimizer().param_groups()[0].options().get_lr();
  };
  ModuleLearner first(maker<optim::SGD>(optim::SGDOptions(0.1).momentum(0.9)), 1);
  first.steps(0, 4);
  EXPECT_EQ(rate(first), 0.05) << "the schedule has changed it";
  const State state = saved(first.replica());
  ModuleLearner same(maker<optim::SGD>(optim::SGDOptions(0.1).momentum(0.9)), 1);
  restore(same.replica(), state);
  EXPECT_EQ(rate(same), 0.05);
  ModuleLearner other(maker<optim::SGD>(optim::SGDOptions(0.3).momentum(0.9)), 1);
  restore(other.replica(), state);
  EXPECT_EQ(rate(other), 0.3);
}

std::string why_refused(ModuleReplica& replica, const State& state) {
  try {
    restore(replica, state);
  } catch (const StateError& error) {
    return error.what();
  }
  return "not refused";
}

TEST(ModuleState, AStateOfSomethingElseIsRefused) {
  ModuleLearner learner(maker<optim::SGD>(optim::SGDOptions(0.1)), 1);
  ModuleLearner adam(maker<optim::Adam>(optim::AdamOptions(0.1)), 1);
  EXPECT_EQ(why_refused(learner.replica(), saved(adam.replica())),
            "the optimizer is torch::optim::SGD, but the state is of torch::optim::Adam");
  State state = saved(learner.replica());
  state.tensors["model.fc2.weight"].shape = {7, 2};
  EXPECT_EQ(why_refused(learner.replica(), state),
            "the tensor model.fc2.weight has the shape [7, 2]; expected [2, 7]");
  state.tensors.erase("model.fc2.weight");
  EXPECT_EQ(why_refused(learner.replica(), state), "the tensor model.fc2.weight is missing");
  state = saved(learner.replica());
  state.tensors["torch_generator"].bytes.pop_back();
  EXPECT_EQ(why_refused(learner.replica(), state),
            "the state of torch's generator is of another version of torch");
}

// When models are evaluated depends on time; what is drawn in training must not.
TEST(ModuleState, AnEvaluationDoesNotChangeTheRandomNumbersOfTraining) {
  ModuleLearner learner(maker<optim::SGD>(optim::SGDOptions(0.1)), 1);
  torch::manual_seed(5);
  const torch::Tensor expected = torch::rand({3});
  torch::manual_seed(5);
  learner.replica().with(snapshot_of(learner.replica()), [] { torch::rand({100}); });
  EXPECT_TRUE(torch::equal(torch::rand({3}), expected));
}

}  // namespace
}  // namespace motley::module_state_test
