#include "motley/load_model.h"

#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>
#include <torch/serialize.h>

#include "api/module_replica.h"
#include "api/module_tensors.h"
#include "motley/base/failure.h"
#include "state/checkpoint_store.h"
#include "tests/scratch_dir.h"

namespace motley::load_model_test {
namespace {

struct BatchNet : torch::nn::Module {
  explicit BatchNet(std::int64_t width = 3) : fc(width, 2) {
    register_module("fc", fc);
    register_module("bn", bn);
    register_module("again", fc);
  }

  torch::nn::Linear fc;
  torch::nn::BatchNorm1d bn{2};
};

void fill(torch::nn::Module& module, double first) {
  const torch::NoGradGuard no_grad;
  for (const auto& [name, tensor] : tensors_of(module)) {
    torch::Tensor numbers = tensor;
    numbers.fill_(first);
    first += 1;
  }
}

bool are_equal(const torch::nn::Module& one, const torch::nn::Module& other) {
  const NamedTensors first = tensors_of(one);
  const NamedTensors second = tensors_of(other);
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (!torch::equal(first[i].tensor, second[i].tensor)) {
      return false;
    }
  }
  return first.size() == second.size();
}

Checkpoint checkpoint_of(std::int64_t step, const std::vector<BatchNet*>& workers) {
  Checkpoint checkpoint{step, std::nullopt, {}, {}};
  for (std::size_t i = 0; i < workers.size(); ++i) {
    torch::optim::SGD optimizer(workers[i]->parameters(), 0.1);
    ModuleReplica replica(*workers[i], optimizer);
    checkpoint.state.put("workers." + std::to_string(i) + ".replica", state_of(replica));
  }
  return checkpoint;
}

class LoadModel : public testing::Test {
 protected:
  void write(const Checkpoint& checkpoint) {
    std::filesystem::create_directories(run);
    ASSERT_TRUE(CheckpointStore(real_files(), run / "checkpoints").write(checkpoint));
  }

  std::string why_refused(const std::filesystem::path& path, BatchNet& module) {
    BatchNet before(module.fc->weight.size(1));
    fill(before, 77);
    fill(module, 77);
    try {
      load_model(path, module);
    } catch (const Refused& refused) {
      EXPECT_TRUE(are_equal(module, before)) << "a module that does not fit is unchanged";
      const std::string what = refused.what();
      return what.starts_with(path.string()) ? what.substr(path.string().size()) : what;
    }
    return "not refused";
  }

  const ScratchDir scratch;
  const std::filesystem::path run = scratch.file("run");
  BatchNet first;
  BatchNet second;
  BatchNet loaded;
};

TEST_F(LoadModel, OfACheckpointByEachOfItsPaths) {
  fill(first, 1);
  fill(second, 50);
  write(checkpoint_of(10, {&second}));
  write(checkpoint_of(20, {&first}));
  for (const auto& path : {run, run / "checkpoints", run / "checkpoints/", run / "checkpoints/20",
                           run / "checkpoints/20/tensors.safetensors"}) {
    fill(loaded, 0);
    load_model(path, loaded);
    EXPECT_TRUE(are_equal(loaded, first)) << path;
  }
  load_model(run / "checkpoints/10", loaded);
  EXPECT_TRUE(are_equal(loaded, second));
}

TEST_F(LoadModel, OfAModelFile) {
  fill(first, 1);
  const std::string file = scratch.file("own.pt");
  const auto shared = std::make_shared<BatchNet>();
  fill(*shared, 9);
  torch::save(shared, file);
  load_model(file, loaded);
  EXPECT_TRUE(are_equal(loaded, *shared));
  auto pointer = std::make_shared<BatchNet>();
  load_model(file, pointer);
  EXPECT_TRUE(are_equal(*pointer, *shared));
}

TEST_F(LoadModel, OfARunTheNewestOne) {
  const auto in_file = std::make_shared<BatchNet>();
  fill(*in_file, 9);
  fill(first, 1);
  write(checkpoint_of(20, {&first}));
  torch::save(in_file, (run / "model.pt").string());
  load_model(run, loaded);
  EXPECT_TRUE(are_equal(loaded, first)) << "the run has not ended in order";
  scratch.write("run/summary.json", "{\"steps\": 20}");
  load_model(run, loaded);
  EXPECT_TRUE(are_equal(loaded, *in_file));
  fill(second, 50);
  write(checkpoint_of(30, {&second}));
  load_model(run, loaded);
  EXPECT_TRUE(are_equal(loaded, second)) << "the run went on after its summary";
  scratch.write("run/summary.json", "{\"steps\": 3");
  load_model(run, loaded);
  EXPECT_TRUE(are_equal(loaded, second)) << "a summary that is not whole is none";
}

TEST_F(LoadModel, OfWorkersWithModelsOfTheirOwnTheMean) {
  fill(first, 1);
  fill(second, 4);
  write(checkpoint_of(10, {&first, &second}));
  load_model(run, loaded);
  EXPECT_TRUE(torch::equal(loaded.fc->weight, (first.fc->weight + second.fc->weight) / 2));
  EXPECT_TRUE(torch::equal(loaded.bn->running_var, first.bn->running_var + 1.5));
  EXPECT_EQ(loaded.bn->num_batches_tracked.item<std::int64_t>(),
            first.bn->num_batches_tracked.item<std::int64_t>());
}

TEST_F(LoadModel, OfWorkersWithTheSameParametersWorkerZeros) {
  fill(first, 1);
  fill(second, 1);
  {
    const torch::NoGradGuard no_grad;
    second.bn->running_mean.fill_(100);  // each worker has its own statistics
  }
  write(checkpoint_of(10, {&first, &second}));
  load_model(run, loaded);
  EXPECT_TRUE(are_equal(loaded, first));
}

TEST_F(LoadModel, WhatDoesNotFitIsOneLineThatNamesTheTensor) {
  fill(first, 1);
  Checkpoint checkpoint = checkpoint_of(10, {&first});
  write(checkpoint);
  BatchNet wide(4);
  EXPECT_EQ(why_refused(run, wide),
            ": fc.weight has the shape [2, 3] there; the module has [2, 4]");
  auto& tensors = checkpoint.state.tensors;
  tensors["workers.0.replica.model.more"] = tensors["workers.0.replica.model.fc.weight"];
  write(checkpoint);
  EXPECT_EQ(why_refused(run, loaded), ": it has more, which the module does not have");
  tensors.erase("workers.0.replica.model.more");
  tensors.erase("workers.0.replica.model.bn.running_var");
  write(checkpoint);
  EXPECT_EQ(why_refused(run, loaded), ": bn.running_var is missing");
  checkpoint = checkpoint_of(10, {&first});
  tensors["workers.0.replica.model.bn.num_batches_tracked"].type = ElementType::kFloat64;
  write(checkpoint);
  EXPECT_EQ(why_refused(run, loaded),
            ": bn.num_batches_tracked is Double there; the module has Long");
  checkpoint = checkpoint_of(10, {&first, &second});
  tensors.erase("workers.1.replica.model.fc.bias");
  write(checkpoint);
  EXPECT_NE(why_refused(run, loaded).find("fc.bias is not the same tensor on all workers"),
            std::string::npos);
}

TEST_F(LoadModel, WhatIsNoModelIsOneLine) {
  EXPECT_NE(why_refused(scratch.file("nowhere"), loaded).find("No such file"), std::string::npos);
  EXPECT_NE(why_refused(scratch.path(), loaded).find("no model here"), std::string::npos);
  const auto text = scratch.write("text.txt", "this is a text");
  EXPECT_NE(why_refused(text, loaded).find("neither a model file of torch"), std::string::npos);
  const auto zip = scratch.write("half.pt", "PK\3\4 but no more");
  const std::string why = why_refused(zip, loaded);
  EXPECT_NE(why.find("its end is missing"), std::string::npos);
  EXPECT_EQ(why.find('\n'), std::string::npos);
}

// A bit that has changed is noticed, and the checkpoint before is used only where that is asked.
TEST_F(LoadModel, OfADamagedCheckpointIsRefused) {
  fill(first, 1);
  fill(second, 50);
  write(checkpoint_of(10, {&first}));
  write(checkpoint_of(20, {&second}));
  const auto file = run / "checkpoints/20/tensors.safetensors";
  std::fstream damaged(file, std::ios::in | std::ios::out | std::ios::binary);
  damaged.seekp(-1, std::ios::end);
  damaged.put('x');
  damaged.close();
  EXPECT_NE(why_refused(run / "checkpoints/20", loaded), "not refused");
  testing::internal::CaptureStderr();
  load_model(run, loaded);
  EXPECT_TRUE(are_equal(loaded, first));
  EXPECT_NE(testing::internal::GetCapturedStderr().find(file.string()), std::string::npos);
}

}  // namespace
}  // namespace motley::load_model_test
