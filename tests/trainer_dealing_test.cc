// In which order a trainer gets its samples, in how many parts, and what it refuses.
#include <gtest/gtest.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>

#include <numeric>
#include <stdexcept>

#include "motley/trainer.h"
#include "tests/lone_session.h"

namespace motley::trainer_dealing_test {
namespace {

using Parts = std::vector<std::vector<SampleIndex>>;

torch::Tensor inputs_of(std::span<const SampleIndex> samples) {
  std::vector<float> numbers(samples.begin(), samples.end());
  return torch::tensor(numbers).div(10).unsqueeze(1);
}

struct DealtRun {
  Parts parts;  // what begin() returned
  std::int64_t steps = 0;
  std::int64_t epochs = 0;
  torch::Tensor weight;
};

// `prepare` is called with the trainer before its first begin(). 10 samples, or a stream.
template <class Prepare>
DealtRun train(const Options& options, const Prepare& prepare, bool endless = false,
               std::vector<std::string> flags = {}) {
  LoneSession alone(std::move(flags));
  torch::manual_seed(1);
  torch::nn::Linear model(1, 1);
  torch::optim::SGD optimizer(model->parameters(), 0.1);
  Trainer trainer(alone.session, model, optimizer,
                  endless ? stream(inputs_of) : samples(10, inputs_of), options);
  prepare(trainer);
  DealtRun trained;
  while (auto batch = trainer.begin()) {
    trained.parts.emplace_back(trainer.indices().begin(), trainer.indices().end());
    EXPECT_TRUE(torch::equal(*batch, inputs_of(trainer.indices())));
    const auto loss = model->forward(*batch).pow(2).mean();
    loss.backward();
    trainer.finish(loss);
  }
  trained.steps = trainer.standing().own_steps;
  trained.epochs = trainer.standing().epochs;
  trained.weight = model->weight.detach().clone();
  return trained;
}
DealtRun train(const Options& options, bool endless = false) {
  return train(
      options, [](auto&) {}, endless);
}

std::string refused(const Options& options) {
  try {
    train(options);
  } catch (const Refused& why) {
    return why.what();
  }
  return "none";
}

TEST(TrainerDealing, SequentialWithWholeBatches) {
  const DealtRun trained =
      train({.batch = 4, .epochs = 2, .order = SampleOrder::kSequential, .drop_last = true});
  EXPECT_EQ(trained.parts, (Parts{{0, 1, 2, 3}, {4, 5, 6, 7}, {0, 1, 2, 3}, {4, 5, 6, 7}}));
  EXPECT_EQ(trained.epochs, 2);
}

TEST(TrainerDealing, StreamsGoOnInTheirPlaces) {
  const DealtRun trained = train({.batch = 3, .epochs = 1, .order = SampleOrder::kStreams});
  EXPECT_EQ(trained.parts, (Parts{{0, 3, 6}, {1, 4, 7}, {2, 5, 8}}));
}

// With a loader, too: it is told of samples, not of places.
TEST(TrainerDealing, AnOrderOfTheProgram) {
  for (const int workers : {0, 2}) {
    const DealtRun trained =
        train({.batch = 6, .epochs = 2, .loader = {.workers = workers}}, [](auto& trainer) {
          trainer.set_order([](std::int64_t epoch) {
            std::vector<SampleIndex> order(10, 7);  // a sampler that draws one again and again
            std::iota(order.begin(), order.begin() + 3, static_cast<SampleIndex>(epoch));
            return order;
          });
        });
    EXPECT_EQ(trained.parts,
              (Parts{{0, 1, 2, 7, 7, 7}, {7, 7, 7, 7}, {1, 2, 3, 7, 7, 7}, {7, 7, 7, 7}}));
  }
}

TEST(TrainerDealing, AnOrderThatIsNoneFailsTheRun) {
  const auto half = [](auto& trainer) {
    trainer.set_order([](std::int64_t) { return std::vector<SampleIndex>{1, 2, 3, 4, 5}; });
  };
  EXPECT_THROW(train({.batch = 6}, half), std::invalid_argument);
}

TEST(TrainerDealing, AStreamHasNoEnd) {
  const DealtRun trained = train({.batch = 2, .steps = 4}, true);
  EXPECT_EQ(trained.parts, (Parts{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
  EXPECT_EQ(trained.epochs, 0);
  EXPECT_THROW(train({.batch = 2, .epochs = 1}, true), Refused);
}

// The step is that of the whole share, up to rounding, and it is one step.
TEST(TrainerDealing, AccumulatesOverSeveralBegins) {
  const DealtRun whole = train({.batch = 10, .epochs = 6});
  for (const int parts : {2, 3, 4}) {
    const DealtRun trained = train({.batch = 10, .epochs = 6, .accumulate = parts});
    EXPECT_EQ(std::ssize(trained.parts), 6 * parts);
    EXPECT_EQ(trained.steps, 6);
    EXPECT_LT((trained.weight - whole.weight).abs().item<double>(), 1e-6);
  }
  const DealtRun both = train({.batch = 10, .epochs = 1, .micro_batch = {2}, .accumulate = 3});
  EXPECT_EQ(std::ssize(both.parts), 5);
  EXPECT_EQ(train({.batch = 2, .epochs = 1, .accumulate = 8}).parts.size(), 10U);
}

TEST(TrainerDealing, WhatCannotBeDealtIsRefusedByName) {
  EXPECT_NE(refused({.batch = 4, .sticky = true}).find("train.sticky = true"), std::string::npos);
  EXPECT_NE(refused({.batch = 3, .min_share = 2}).find("train.min_share is 2"), std::string::npos);
  EXPECT_NE(refused({.batch = 11, .drop_last = true}).find("train.drop_last"), std::string::npos);
  EXPECT_NE(refused({.accumulate = 0}).find("accumulate is 0"), std::string::npos);
  EXPECT_NE(refused({.order = SampleOrder::kOwn}).find("set_order()"), std::string::npos);
}

// With BatchNorm the run asks for shares of two or more by itself, if there are any.
TEST(TrainerDealing, BatchNormAsksForMoreThanOneSample) {
  for (const auto& [batch, expected] : {std::pair{4, 2}, {3, 1}}) {
    LoneSession alone;
    torch::nn::Sequential model(torch::nn::Linear(1, 2), torch::nn::BatchNorm1d(2));
    torch::optim::SGD optimizer(model->parameters(), 0.1);
    Trainer trainer(alone.session, model, optimizer, samples(10, inputs_of), {.batch = batch});
    EXPECT_EQ(trainer.options().min_share, expected);
  }
}

struct NetOfTheStack : torch::nn::Module {
  torch::nn::Linear linear = register_module("linear", torch::nn::Linear(1, 2));
  torch::nn::BatchNorm1d norm = register_module("norm", torch::nn::BatchNorm1d(2));
};

TEST(TrainerDealing, ItsModuleNeedsNoSharedPointer) {
  LoneSession alone;
  NetOfTheStack model;
  torch::optim::SGD optimizer(model.parameters(), 0.1);
  Trainer trainer(alone.session, model, optimizer, samples(10, inputs_of), {.batch = 4});
  EXPECT_EQ(trainer.options().min_share, 2);
}

}  // namespace
}  // namespace motley::trainer_dealing_test
