// TorchScript modules as input, and model files as torch.jit.load reads them.
#include <gtest/gtest.h>
#include <torch/script.h>

#include <algorithm>
#include <sstream>

#include "compute/load.h"
#include "tests/data_files.h"

namespace motley {
namespace {

// linear(x.flatten(1)) with 784 features and 10 classes, and the given forward.
torch::jit::Module linear_module(const std::string& forward) {
  torch::manual_seed(3);
  torch::jit::Module module("net");
  module.register_parameter("weight", (0.01 * torch::randn({10, 784})).requires_grad_(), false);
  module.register_parameter("bias", torch::zeros({10}).requires_grad_(), false);
  module.register_buffer("seen", torch::zeros({2}));
  module.register_attribute("training", c10::BoolType::get(), true);
  module.define(forward);
  return module;
}

constexpr const char* kLinear = R"(
def forward(self, x):
    return torch.linear(torch.flatten(x, 1), self.weight, self.bias)
)";

constexpr const char* kCounting = R"(
def forward(self, x):
    if self.training:
        self.seen.add_(1.0)
    return torch.linear(torch.flatten(x, 1), self.weight, self.bias)
)";

Job script_job(const std::string& path) {
  Job job;
  job.model.kind = ModelKind::kTorchscript;
  job.model.path = path;
  job.data.samples = 512;
  job.data.test_samples = 256;
  job.train.lr = 0.02;
  return job;
}

std::string saved(const ScratchDir& folder, const torch::jit::Module& module) {
  const std::string path = folder.file("net.pt");
  module.save(path);
  return path;
}

torch::jit::Module read_back(const std::string& bytes) {
  std::istringstream in(bytes);
  return torch::jit::load(in);
}

std::vector<SampleIndex> some_samples() { return {5, 3, 200, 17, 4, 99, 1, 2}; }

TEST(TorchScript, TrainsFromTheSavedValuesAndSavesAWholeModule) {
  ScratchDir folder;
  const auto module = linear_module(kCounting);
  auto task = load_task(script_job(saved(folder, module)), Parts::kBoth);
  ASSERT_TRUE(task) << task.error().message;
  const auto replica = (*task)->make_replica();
  EXPECT_EQ(replica->parameters().size, 7850U);
  EXPECT_EQ(replica->buffers().size, 2U);
  EXPECT_EQ(
      replica->tensors(),
      (std::vector<TensorInfo>{{.name = "weight", .shape = {10, 784}},
                               {.name = "bias", .shape = {10}, .offset = 7840},
                               {.name = "seen", .shape = {2}, .in = TensorInfo::In::kBuffers}}));
  const Snapshot fresh = snapshot_of(*replica);
  EXPECT_EQ(fresh.parameters[0], module.attr("weight").toTensor()[0][0].item<float>());
  EXPECT_EQ(fresh.buffers[0], 0) << "testing the module does not change it";

  for (int step = 0; step < 60; ++step) {
    const auto samples = some_samples();
    replica->compute(samples);
    replica->apply(1.0 / 8);
  }
  const Snapshot trained = snapshot_of(*replica);
  EXPECT_EQ(trained.buffers[0], 60);
  EXPECT_NE(trained.parameters, fresh.parameters);

  const std::string file = (*task)->model_file(trained);
  EXPECT_EQ(file, (*task)->model_file(trained));
  auto back = read_back(file);
  EXPECT_EQ(back.attr("weight").toTensor()[0][0].item<float>(), trained.parameters[0]);
  EXPECT_EQ(back.attr("seen").toTensor()[0].item<float>(), 60);
  EXPECT_EQ(back.forward({torch::zeros({3, 784})}).toTensor().size(1), 10);
  EXPECT_FALSE(back.is_training());
}

TEST(TorchScript, AParameterUsedTwiceIsOne) {
  ScratchDir folder;
  torch::jit::Module outer("outer");
  const torch::Tensor shared = (0.01 * torch::randn({10, 784})).requires_grad_();
  outer.register_parameter("first", shared, false);
  outer.register_parameter("second", shared, false);
  outer.define(R"(
def forward(self, x):
    return torch.linear(x, self.first) + torch.linear(x, self.second)
)");
  auto task = load_task(script_job(saved(folder, outer)), Parts::kBoth);
  ASSERT_TRUE(task) << task.error().message;
  const auto replica = (*task)->make_replica();
  EXPECT_EQ(describe(replica->tensors()), "first 10x784\n");
  const auto samples = some_samples();
  replica->compute(samples);
  replica->apply(1);
  auto back = read_back((*task)->model_file(snapshot_of(*replica)));
  EXPECT_TRUE(back.attr("first").toTensor().equal(back.attr("second").toTensor()));
}

TEST(TorchScript, FrozenParametersStay) {
  ScratchDir folder;
  auto module = linear_module(kLinear);
  module.attr("bias").toTensor().set_requires_grad(false);
  auto task = load_task(script_job(saved(folder, module)), Parts::kBoth);
  ASSERT_TRUE(task) << task.error().message;
  EXPECT_EQ((*task)->make_replica()->parameters().size, 7840U);
}

TEST(TorchScript, AMismatchIsOneLineWithTheFile) {
  const auto logits = [](const std::string& expression) {
    return linear_module("def forward(self, x):\n    return " + expression + "\n");
  };
  auto none = torch::jit::Module("net");
  none.define("def forward(self, x):\n    return x\n");
  auto doubles = linear_module(kLinear);
  doubles.to(torch::kFloat64);
  const std::vector<std::pair<torch::jit::Module, std::string>> cases{
      {none, "no parameters"},
      {doubles, "expected float32"},
      {logits("torch.linear(x, self.weight)[:, :5]"), "Float [2, 5]"},
      {logits("torch.linear(x, self.weight).sum()"), "Float []"},
      {logits("torch.linear(x, self.weight).double()"), "Double [2, 10]"},
      {logits("(x, x)"), "forward fails"},
      {logits("torch.linear(x, self.weight[:, :7])"), "shapes cannot be multiplied"},
      {logits("torch.linear(x, self.weight).detach()"), "does not depend on the parameters"},
      {linear_module("def forward(self, x):\n    self.seen = self.seen + 1.0\n"
                     "    return torch.linear(x, self.weight)\n"),
       "replaces buffer seen"},
  };
  for (const auto& [module, says] : cases) {
    ScratchDir folder;
    const std::string path = saved(folder, module);
    const auto task = load_task(script_job(path), Parts::kBoth);
    ASSERT_FALSE(task) << says;
    const std::string& message = task.error().message;
    EXPECT_EQ(message.find(path + ": "), 0U) << message;
    EXPECT_NE(message.find(says), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

TEST(TorchScript, AFileThatIsNotAModuleIsOneLine) {
  ScratchDir folder;
  linear_module(kLinear).save(folder.file("net.pt"));
  std::ifstream in(folder.file("net.pt"), std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), {});
  for (const std::string& bytes :
       {std::string(), std::string("hello"), whole.substr(0, whole.size() / 2)}) {
    const std::string path = folder.write("bad.pt", bytes);
    const auto task = load_task(script_job(path), Parts::kBoth);
    ASSERT_FALSE(task);
    EXPECT_EQ(task.error().message.find(path + ": not a TorchScript module"), 0U)
        << task.error().message;
    EXPECT_EQ(task.error().message.find('\n'), std::string::npos) << task.error().message;
  }
  const auto missing = load_task(script_job(folder.file("none.pt")), Parts::kBoth);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, folder.file("none.pt") + ": no such file");
}

TEST(ModelFile, OfABuiltInModelIsReadByTorchJitLoad) {
  Job job;
  job.model.kind = ModelKind::kResnet20;
  job.data.samples = 64;
  job.data.test_samples = 1;
  const auto task = load_task(job, Parts::kBoth);
  ASSERT_TRUE(task);
  const auto replica = (*task)->make_replica();
  const auto samples = std::vector<SampleIndex>{1, 2, 3, 4};
  replica->compute(samples);
  replica->apply(0.25);
  const Snapshot snapshot = snapshot_of(*replica);
  const auto back = read_back((*task)->model_file(snapshot));
  std::vector<float> numbers;
  for (const torch::Tensor& parameter : back.parameters()) {
    const torch::Tensor flat = parameter.detach().contiguous().view(-1);
    numbers.insert(numbers.end(), flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel());
  }
  auto expected = snapshot.parameters;
  std::sort(expected.begin(), expected.end());
  std::sort(numbers.begin(), numbers.end());
  EXPECT_EQ(numbers, expected);
}

}  // namespace
}  // namespace motley
