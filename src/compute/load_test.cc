// Tests load_task() as the command line uses it: without torch headers.
#include "compute/load.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "base/random.h"
#include "job/choices.h"
#include "tests/data_files.h"

namespace motley {
namespace {

Job synthetic_job(ModelKind model, std::int64_t features = 784) {
  Job job;
  job.model.kind = model;
  job.data.samples = 400;
  job.data.test_samples = 100;
  job.data.features = features;
  job.train.lr = 0.02;
  return job;
}

std::shared_ptr<Task> load(const Job& job, Parts parts = Parts::kBoth) {
  auto task = load_task(job, parts);
  EXPECT_TRUE(task) << task.error().message;
  return task ? *task : nullptr;
}

std::vector<SampleIndex> range(std::size_t count) {
  std::vector<SampleIndex> samples(count);
  std::iota(samples.begin(), samples.end(), SampleIndex{0});
  return samples;
}

// One pass over the training set, in an order that `seed` determines.
void train_epoch(Replica& replica, std::int64_t samples, std::size_t batch, std::uint64_t seed) {
  auto order = range(static_cast<std::size_t>(samples));
  Random(seed).shuffle(std::span(order));
  for (std::size_t begin = 0; begin < order.size(); begin += batch) {
    const auto part = std::span(order).subspan(begin, std::min(batch, order.size() - begin));
    replica.compute(part);
    replica.apply(1.0 / static_cast<double>(part.size()));
  }
}

std::vector<float> gradient_of(Replica& replica, std::span<const SampleIndex> samples) {
  replica.compute(samples);
  const auto block = replica.gradient().floats();
  return {block.begin(), block.end() - Replica::kTail};
}

double norm(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) {
    sum += double{value} * value;
  }
  return std::sqrt(sum);
}

TEST(Load, ParameterCountsAreTheOnesInTheTable) {
  const std::vector<std::tuple<ModelKind, std::int64_t, std::size_t>> table{
      {ModelKind::kSvm, 784, 7'850},        {ModelKind::kSvm, 3072, 30'730},
      {ModelKind::kMlp, 784, 101'770},      {ModelKind::kMlp, 3072, 394'634},
      {ModelKind::kCnn, 784, 417'482},      {ModelKind::kCnn, 3072, 541'162},
      {ModelKind::kResnet20, 784, 269'434}, {ModelKind::kResnet20, 3072, 269'722}};
  for (const auto& [model, features, parameters] : table) {
    Job job = synthetic_job(model, features);
    job.data.samples = 8;
    job.data.test_samples = 1;
    const auto replica = load(job)->make_replica();
    EXPECT_EQ(replica->parameters().size, parameters) << name_of(model) << " " << features;
    EXPECT_EQ(replica->gradient().size, parameters + Replica::kTail);
    EXPECT_EQ(replica->buffers().size,
              model == ModelKind::kResnet20 ? 2U * (16 + 6 * (16 + 32 + 64)) : 0U);
  }
}

TEST(Load, EveryModelLearns) {
  for (const ModelKind model :
       {ModelKind::kSvm, ModelKind::kMlp, ModelKind::kCnn, ModelKind::kResnet20}) {
    const auto task = load(synthetic_job(model));
    const auto replica = task->make_replica();
    const auto before = task->evaluate(snapshot_of(*replica));
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
      train_epoch(*replica, task->training_samples(), 16, epoch);
    }
    const auto after = task->evaluate(snapshot_of(*replica));
    EXPECT_LT(after->loss, 0.8 * before->loss) << name_of(model);
    EXPECT_GT(after->accuracy, 0.3) << name_of(model) << ", ten classes";
  }
}

TEST(Load, ReplicasStartEqualWhateverHappenedBefore) {
  const Job job = synthetic_job(ModelKind::kResnet20);
  const auto task = load(job);
  const auto first = task->make_replica();
  train_epoch(*first, 64, 32, 1);
  const Snapshot second = snapshot_of(*task->make_replica());
  const Snapshot other_task = snapshot_of(*load(job, Parts::kTraining)->make_replica());
  EXPECT_EQ(second.parameters, other_task.parameters);
  EXPECT_EQ(second.buffers, other_task.buffers);
  Job other_seed = job;
  other_seed.seed = 2;
  EXPECT_NE(second.parameters, snapshot_of(*load(other_seed)->make_replica()).parameters);
}

TEST(Load, BatchNormStatisticsAreBuffersAndEvaluationUsesThem) {
  const auto task = load(synthetic_job(ModelKind::kResnet20));
  const auto replica = task->make_replica();
  const Snapshot fresh = snapshot_of(*replica);
  replica->compute(range(32));
  Snapshot moved = snapshot_of(*replica);
  EXPECT_NE(fresh.buffers, moved.buffers) << "compute() moves the running statistics";
  EXPECT_EQ(fresh.parameters, moved.parameters);
  EXPECT_NE(task->evaluate(fresh)->loss, task->evaluate(moved)->loss);
  const double loss = task->evaluate(moved)->loss;
  EXPECT_EQ(task->evaluate(moved)->loss, loss) << "evaluation does not change them";
}

TEST(Load, TheTailOfTheGradientIsTheMethodsOwn) {
  const auto task = load(synthetic_job(ModelKind::kMlp));
  const auto replica = task->make_replica();
  const auto tail = replica->gradient().floats().last(Replica::kTail);
  std::fill(tail.begin(), tail.end(), 7.0F);
  replica->compute(range(16));
  replica->apply(0.5);
  replica->compute({});
  EXPECT_TRUE(std::all_of(tail.begin(), tail.end(), [](float v) { return v == 7.0F; }));
}

TEST(Load, NoSamplesGiveZeros) {
  const auto replica = load(synthetic_job(ModelKind::kMlp))->make_replica();
  replica->compute(range(16));
  EXPECT_EQ(replica->compute({}), 0);
  EXPECT_EQ(norm(gradient_of(*replica, {})), 0);
}

// The sum over any split of a batch is the gradient of the batch, however uneven the parts.
TEST(Load, GradientsOfSplitsAddUp) {
  for (const ModelKind model : {ModelKind::kSvm, ModelKind::kMlp, ModelKind::kCnn}) {
    const auto task = load(synthetic_job(model), Parts::kTraining);
    const auto replica = task->make_replica();
    const bool ok = rc::check("gradients of the parts add up, " + std::string(name_of(model)), [&] {
      const auto batch =
          *rc::gen::resize(24, rc::gen::nonEmpty(rc::gen::container<std::vector<SampleIndex>>(
                                   rc::gen::inRange<SampleIndex>(0, 400))));
      auto cuts = *rc::gen::container<std::vector<std::size_t>>(
          *rc::gen::inRange<std::size_t>(0, 6), rc::gen::inRange<std::size_t>(0, batch.size() + 1));
      cuts.push_back(0);
      cuts.push_back(batch.size());
      std::sort(cuts.begin(), cuts.end());

      const double whole_loss = replica->compute(batch);
      const std::vector<float> whole = gradient_of(*replica, batch);
      std::vector<float> difference = whole;
      double loss = 0;
      for (std::size_t i = 1; i < cuts.size(); ++i) {
        const auto part = std::span(batch).subspan(cuts[i - 1], cuts[i] - cuts[i - 1]);
        loss += replica->compute(part);
        const auto summand = replica->gradient().floats();
        for (std::size_t j = 0; j < difference.size(); ++j) {
          difference[j] -= summand[j];
        }
      }
      RC_ASSERT(norm(difference) <= 1e-5 * norm(whole));
      RC_ASSERT(std::abs(loss - whole_loss) <= 1e-5 * whole_loss);
    });
    EXPECT_TRUE(ok);
  }
}

TEST(Load, ModelFileIsDecidedByTheSnapshot) {
  for (const ModelKind model : {ModelKind::kMlp, ModelKind::kResnet20}) {
    const auto task = load(synthetic_job(model));
    const auto replica = task->make_replica();
    const Snapshot fresh = snapshot_of(*replica);
    const std::string file = task->model_file(fresh);
    const std::size_t numbers = fresh.parameters.size() + fresh.buffers.size();
    EXPECT_LT(file.size(), numbers * sizeof(float) + 100'000);
    EXPECT_EQ(file, task->model_file(fresh));
    EXPECT_EQ(file, load(synthetic_job(model), Parts::kTest)->model_file(fresh));
    train_epoch(*replica, 64, 32, 1);
    EXPECT_NE(file, task->model_file(snapshot_of(*replica)));
  }
}

TEST(Load, PhantomHasSizesOnly) {
  Job job;
  job.model.kind = ModelKind::kPhantom;
  job.model.parameters = 25'000'000;
  const auto task = load(job);
  EXPECT_EQ(task->training_samples(), job.data.samples);
  EXPECT_TRUE(task->make_replica()->parameters().phantom());
  EXPECT_FALSE(task->evaluate({}));
}

std::string error_of(const Job& job) {
  const auto task = load_task(job, Parts::kBoth);
  return task ? "" : task.error().message;
}

TEST(Load, RefusesModelsThatDoNotFitTheirData) {
  ScratchDir folder;
  Job job = synthetic_job(ModelKind::kCnn);
  job.data.kind = DataKind::kLibsvm;
  job.data.path = folder.write("data", "0 784:1\n1 1:1\n0 2:1\n1 3:1\n");
  job.data.holdout = 0.5;
  EXPECT_NE(error_of(job).find("model.kind = \"cnn\" needs images"), std::string::npos);
  EXPECT_NE(error_of(synthetic_job(ModelKind::kResnet20, 100)).find("needs images"),
            std::string::npos);
  job = synthetic_job(ModelKind::kCnn);
  job.data.kind = DataKind::kIdx;
  job.data.path = folder.path();
  test::write_idx(folder, 3);
  EXPECT_NE(error_of(job).find("at least 4 x 4"), std::string::npos);
}

TEST(Load, SvmLearnsLibsvmData) {
  ScratchDir folder;
  std::string text;
  Random random(3);
  for (int i = 0; i < 400; ++i) {
    const double x = random.uniform() - 0.5;
    const double y = random.uniform() - 0.5;
    text += fmt::format("{} 1:{:.4f} 2:{:.4f}\n", x + y > 0 ? "+1" : "-1", x, y);
  }
  Job job = synthetic_job(ModelKind::kSvm);
  job.data.kind = DataKind::kLibsvm;
  job.data.path = folder.write("data", text);
  job.train.lr = 0.5;
  const auto task = load(job);
  EXPECT_EQ(task->training_samples(), 360);
  const auto replica = task->make_replica();
  for (std::uint64_t epoch = 0; epoch < 20; ++epoch) {
    train_epoch(*replica, task->training_samples(), 20, epoch);
  }
  EXPECT_GT(task->evaluate(snapshot_of(*replica))->accuracy, 0.9);
}

TEST(Load, MlpLearnsFashionMnistInOneEpoch) {
  Job job;
  job.data.kind = DataKind::kIdx;
  job.data.path = "/usr/share/datasets/fashion-mnist";
  const auto task = load(job);
  EXPECT_EQ(task->training_samples(), 60'000);
  const auto replica = task->make_replica();
  train_epoch(*replica, task->training_samples(), 256, 1);
  EXPECT_GE(task->evaluate(snapshot_of(*replica))->accuracy, 0.80);
}

}  // namespace
}  // namespace motley
