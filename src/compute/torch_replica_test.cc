// Compares the flat blocks with torch's own tensors and optimizers.
#include "compute/torch_replica.h"

#include <gtest/gtest.h>
#include <torch/optim/adam.h>
#include <torch/optim/sgd.h>

#include <algorithm>
#include <numeric>

#include "compute/models.h"
#include "state/state.h"

namespace motley {
namespace {

std::shared_ptr<const Dataset> small_data() {
  DataSpec spec;
  spec.samples = 256;
  spec.test_samples = 1;
  spec.features = 20;
  spec.classes = 4;
  return std::make_shared<const Dataset>(*read_dataset(spec, 1, Parts::kTraining));
}

std::unique_ptr<TorchModel> small_mlp() { return make_builtin(ModelKind::kMlp, {20}, 4, 5); }

std::vector<SampleIndex> step_samples(std::size_t step) {
  std::vector<SampleIndex> samples(16);
  std::iota(samples.begin(), samples.end(), static_cast<SampleIndex>(step * 7 % 200));
  return samples;
}

// The same training with one tensor per parameter, using only the data from motley.
std::vector<float> reference(const Dataset& data, const TrainSpec& train, std::size_t steps) {
  const auto network = small_mlp();
  std::vector<torch::Tensor> parameters;
  for (const auto& [name, tensor] : network->parameters()) {
    parameters.push_back(tensor);
  }
  std::unique_ptr<torch::optim::Optimizer> optimizer;
  if (train.optimizer == OptimizerKind::kAdam) {
    optimizer = std::make_unique<torch::optim::Adam>(
        parameters, torch::optim::AdamOptions(train.lr).weight_decay(train.weight_decay));
  } else {
    optimizer =
        std::make_unique<torch::optim::SGD>(parameters, torch::optim::SGDOptions(train.lr)
                                                            .momentum(train.momentum)
                                                            .weight_decay(train.weight_decay));
  }
  for (std::size_t step = 0; step < steps; ++step) {
    Batch batch(data.shape);
    const auto samples = step_samples(step);
    batch.gather(data.training, samples);
    optimizer->zero_grad();
    const torch::Tensor loss = summed_loss(network->forward(batch.features()), batch.labels());
    (loss / static_cast<double>(samples.size())).backward();
    optimizer->step();
  }
  std::vector<float> numbers;
  for (const torch::Tensor& parameter : parameters) {
    const float* from = parameter.data_ptr<float>();
    numbers.insert(numbers.end(), from, from + parameter.numel());
  }
  return numbers;
}

TEST(TorchReplica, OptimizersEqualTorchOneTensorAtATime) {
  TrainSpec sgd;
  sgd.lr = 0.05;
  sgd.momentum = 0.9;
  sgd.weight_decay = 0.01;
  TrainSpec adam = sgd;
  adam.optimizer = OptimizerKind::kAdam;
  adam.lr = 0.003;
  for (const TrainSpec& train : {sgd, adam}) {
    const auto data = small_data();
    TorchReplica replica(small_mlp(), data, train);
    for (std::size_t step = 0; step < 20; ++step) {
      const auto samples = step_samples(step);
      replica.compute(samples);
      replica.apply(1.0 / static_cast<double>(samples.size()));
    }
    const auto expected = reference(*data, train, 20);
    const auto actual = replica.parameters().floats();
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(actual[i], expected[i], 1e-5)
          << static_cast<int>(train.optimizer) << ", parameter " << i;
    }
  }
}

TEST(TorchReplica, MicroBatchesAddUpToTheBatch) {
  const auto data = small_data();
  const auto samples = step_samples(0);
  TorchReplica whole(small_mlp(), data, TrainSpec{});
  const double loss = whole.compute(samples);
  for (const std::size_t micro_batch : {1, 5, 16, 1'000}) {
    TorchReplica parts(small_mlp(), data, TrainSpec{});
    parts.set_micro_batch(micro_batch);
    EXPECT_NEAR(parts.compute(samples), loss, 1e-4);
    EXPECT_EQ(parts.compute({}), 0);
    parts.compute(samples);
    for (std::size_t i = 0; i < whole.parameters().size; ++i) {
      ASSERT_NEAR(parts.gradient().data[i], whole.gradient().data[i], 1e-4) << micro_batch;
    }
  }
}

TEST(TorchReplica, TheBlockIsTheModel) {
  auto owned = small_mlp();
  TorchModel* network = owned.get();
  TorchReplica replica(std::move(owned), small_data(), TrainSpec{});
  const torch::Tensor input = torch::ones({1, 20});
  const torch::NoGradGuard no_grad;
  EXPECT_NE(network->forward(input).abs().sum().item<float>(), 0);

  const Block block = replica.parameters();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.data) % 64, 0U);
  std::fill(block.floats().begin(), block.floats().end(), 0.0F);
  EXPECT_EQ(network->forward(input).abs().sum().item<float>(), 0);
  block.data[block.size - 1] = 3;  // the bias of the last class
  EXPECT_EQ(network->forward(input)[0][3].item<float>(), 3);
  EXPECT_EQ(replica.parameters().data, block.data) << "blocks never move";
}

TEST(TorchReplica, KnowsItsTensors) {
  TorchReplica replica(small_mlp(), small_data(), TrainSpec{});
  EXPECT_EQ(replica.tensors(),
            (std::vector<TensorInfo>{{.name = "hidden.weight", .shape = {128, 20}},
                                     {.name = "hidden.bias", .shape = {128}, .offset = 2560},
                                     {.name = "output.weight", .shape = {4, 128}, .offset = 2688},
                                     {.name = "output.bias", .shape = {4}, .offset = 3200}}));
}

// Where the infos say they are, one after the other, with the numbers that the model has.
TEST(TorchReplica, TensorsFillTheBlocks) {
  auto owned = make_builtin(ModelKind::kResnet20, {3, 32, 32}, 10, 5);
  TorchModel* network = owned.get();
  NamedTensors expected = network->parameters();
  const NamedTensors buffers = network->buffers();
  const std::size_t trained = expected.size();
  expected.insert(expected.end(), buffers.begin(), buffers.end());
  TorchReplica replica(std::move(owned), small_data(), TrainSpec{});
  const auto infos = replica.tensors();
  ASSERT_EQ(infos.size(), expected.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < infos.size(); ++i) {
    const bool is_buffer = i >= trained;
    next = i == trained ? 0 : next;
    EXPECT_EQ(infos[i].name, expected[i].name);
    EXPECT_EQ(infos[i].in, is_buffer ? TensorInfo::In::kBuffers : TensorInfo::In::kParameters);
    EXPECT_EQ(infos[i].offset, next);
    const Block block = is_buffer ? replica.buffers() : replica.parameters();
    EXPECT_EQ(block.data + infos[i].offset, expected[i].tensor.data_ptr<float>());
    next += infos[i].size();
  }
  EXPECT_EQ(next, replica.buffers().size);
  EXPECT_EQ(infos[trained].name, "bn.running_mean");
}

// Half of the steps, then the other half on a new replica that has the state of the first.
TEST(TorchReplica, GoesOnFromItsState) {
  const auto data = small_data();
  for (const OptimizerKind optimizer : {OptimizerKind::kSgd, OptimizerKind::kAdam}) {
    TrainSpec train;
    train.optimizer = optimizer;
    train.lr = 0.01;
    train.momentum = 0.9;
    const auto steps = [](TorchReplica& replica, std::size_t from, std::size_t to) {
      for (std::size_t step = from; step < to; ++step) {
        replica.compute(step_samples(step));
        replica.apply(1.0 / 16);
      }
    };
    TorchReplica first(small_mlp(), data, train);
    steps(first, 0, 5);
    const State state = state_of(first);
    for (const TensorInfo& tensor : first.tensors()) {
      EXPECT_EQ(state.tensors.at(Replica::kModelPart + tensor.name).shape, tensor.shape);
    }
    steps(first, 5, 10);
    TorchReplica second(small_mlp(), data, train);
    restore(second, state);
    steps(second, 5, 10);
    EXPECT_TRUE(std::ranges::equal(first.parameters().floats(), second.parameters().floats()));
  }
}

// Right forecasts, wrong ones and none.
TEST(TorchReplica, ReadingAheadGivesTheSameBits) {
  const auto trained = [](int workers, std::size_t micro_batch) {
    TrainSpec train;
    train.loader.workers = workers;
    TorchReplica replica(small_mlp(), small_data(), train);
    replica.set_micro_batch(micro_batch);
    EXPECT_EQ(replica.reads_ahead(), workers > 0 ? 2 : 0);
    for (std::size_t step = 0; step < 12; ++step) {
      if (workers > 0 && step % 4 != 3) {
        replica.expect({step_samples(step + 1 + step % 4 / 2), step_samples(step + 2)});
      }
      replica.compute(step_samples(step));
      replica.apply(1.0 / 16);
    }
    const auto numbers = replica.parameters().floats();
    return std::vector<float>(numbers.begin(), numbers.end());
  };
  for (const std::size_t micro_batch : {std::size_t{5}, kWholeShare}) {
    const auto plain = trained(0, micro_batch);
    EXPECT_EQ(trained(1, micro_batch), plain);
    EXPECT_EQ(trained(3, micro_batch), plain);
  }
}

}  // namespace
}  // namespace motley
