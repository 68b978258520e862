// A trainer that reads ahead: the model is the same, to the bit; a step takes as long as the longer
// of fetching and computing.
#include <gtest/gtest.h>
#include <torch/data/datasets/base.h>
#include <torch/data/transforms/lambda.h>
#include <torch/data/transforms/stack.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "motley/trainer.h"
#include "tests/lone_session.h"
#include "tests/step_ratio.h"

namespace motley {
namespace {

constexpr std::int64_t kPoints = 50;

void rest(double milliseconds) {
  std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(milliseconds));
}

torch::data::Example<> point(SampleIndex index) {
  const auto x = static_cast<double>(index) / kPoints;
  return {torch::tensor({x, x * x, 1.0}, torch::kFloat), torch::tensor({2 * x}, torch::kFloat)};
}

torch::data::Example<> stacked(std::vector<torch::data::Example<>> points) {
  return torch::data::transforms::Stack<>().apply_batch(std::move(points));
}

// With get(): its samples can be fetched one by one.
struct Points : torch::data::datasets::Dataset<Points> {
  torch::data::Example<> get(std::size_t index) override { return point(index); }
  torch::optional<std::size_t> size() const override { return kPoints; }
};
// Only as a whole.
struct BatchesOfPoints
    : torch::data::datasets::BatchDataset<BatchesOfPoints, torch::data::Example<>> {
  torch::data::Example<> get_batch(torch::ArrayRef<std::size_t> request) override {
    std::vector<torch::data::Example<>> points;
    for (const std::size_t index : request) {
      points.push_back(point(index));
    }
    return stacked(points);
  }
  torch::optional<std::size_t> size() const override { return kPoints; }
};

torch::data::Example<> doubled(torch::data::Example<> example) {
  return {2 * example.data, example.target};
}

// What training with these data leaves.
template <class Data>
torch::Tensor trained_with(Data data, LoaderSpec loader, std::vector<std::int64_t> micro_batch) {
  LoneSession alone;
  torch::manual_seed(1);
  torch::nn::Linear model(3, 1);
  torch::optim::SGD optimizer(model->parameters(), 0.1);
  Trainer trainer(
      alone.session, model, optimizer, std::move(data),
      {.batch = 8, .epochs = 3, .eval_every = 0, .micro_batch = micro_batch, .loader = loader});
  trainer.fit([&](auto& batch) {
    return torch::nn::functional::mse_loss(model->forward(batch.data), batch.target);
  });
  EXPECT_EQ(trainer.result().samples, 3 * kPoints);
  return torch::cat({model->weight.flatten(), model->bias}).detach().clone();
}

template <class Data>
void expect_the_same_model(const Data& data) {
  for (const std::vector<std::int64_t>& micro_batch :
       {std::vector<std::int64_t>{}, std::vector<std::int64_t>{3}}) {
    const torch::Tensor plain = trained_with(data, {}, micro_batch);
    for (const int workers : {1, 3}) {
      const LoaderSpec loader{.workers = workers, .ahead = 2};
      EXPECT_TRUE(torch::equal(trained_with(data, loader, micro_batch), plain)) << workers;
    }
  }
}

using torch::data::transforms::Lambda;
using torch::data::transforms::Stack;

TEST(TrainerLoader, GivesTheSameModelWithEveryKindOfDataSet) {
  expect_the_same_model(Points().map(Stack<>()));
  expect_the_same_model(Points().map(Lambda<torch::data::Example<>>(doubled)).map(Stack<>()));
  expect_the_same_model(BatchesOfPoints());
  expect_the_same_model(samples(kPoints, [](std::span<const SampleIndex> indices) {
    return BatchesOfPoints().get_batch(std::vector<std::size_t>(indices.begin(), indices.end()));
  }));
  expect_the_same_model(samples(kPoints, point, stacked));
}

// Each kind of data set is fetched as it can be.
TEST(TrainerLoader, KnowsWhatCanBeFetchedOneByOne) {
  auto mapped = Points().map(Stack<>());
  auto twice = Points().map(Lambda<torch::data::Example<>>(doubled)).map(Stack<>());
  BatchesOfPoints batches;
  auto functions = samples(kPoints, point, stacked);
  EXPECT_TRUE(batch_source(mapped).fetch);
  EXPECT_TRUE(batch_source(twice).fetch);
  EXPECT_TRUE(batch_source(functions).fetch);
  EXPECT_TRUE(batch_source(batches).whole);
}

TEST(TrainerLoader, WhatTheDataSetThrowsComesFromBegin) {
  std::atomic<int> under_way = 0;
  const auto get = [&](std::span<const SampleIndex> indices) {
    ++under_way;
    rest(2);
    --under_way;
    if (std::ranges::find(indices, SampleIndex{7}) != indices.end()) {
      throw std::out_of_range("sample 7 is damaged");
    }
    return point(indices.front());
  };
  try {
    trained_with(samples(kPoints, get), {.workers = 2, .ahead = 3}, {});
    FAIL() << "the exception is lost";
  } catch (const std::out_of_range& error) {
    EXPECT_STREQ(error.what(), "sample 7 is damaged");
  }
  EXPECT_EQ(under_way, 0);
}

// Both sleep for 8 ms, so the ratio does not depend on how busy the machine is.
TEST(TrainerLoader, AStepTakesAsLongAsTheLongerOfFetchingAndComputing) {
  constexpr std::int64_t kSteps = 40;
  constexpr double kRest = 8;
  LoneSession alone;
  torch::nn::Linear model(3, 1);
  torch::optim::SGD optimizer(model->parameters(), 0.1);
  const auto get = [](std::span<const SampleIndex> indices) {
    rest(kRest);
    return point(indices.front());
  };
  Trainer trainer(alone.session, model, optimizer, samples(kPoints, get),
                  {.batch = 8, .steps = kSteps, .eval_every = 0, .loader = {.workers = 2}});
  StepRatio ratio;
  while (auto batch = trainer.begin()) {
    ratio.begins();
    const auto loss = torch::nn::functional::mse_loss(model->forward(batch->data), batch->target);
    loss.backward();
    rest(kRest);
    ratio.computed();
    trainer.finish(loss);
  }
  EXPECT_LT(ratio.best(), 1.1);
}

}  // namespace
}  // namespace motley
