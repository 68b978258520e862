#include "compute/torch_task.h"

#include <algorithm>
#include <numeric>
#include <sstream>
#include <utility>

#include "base/check.h"
#include "compute/batch.h"
#include "compute/models.h"
#include "compute/threads.h"
#include "compute/torch_error.h"
#include "compute/torch_model.h"
#include "compute/torch_replica.h"
#include "compute/torchscript.h"
#include "job/choices.h"

namespace motley {
namespace {

constexpr std::size_t kEvaluationBatch = 1000;

class TorchTask final : public Task {
 public:
  TorchTask(const Job& job, std::shared_ptr<const Dataset> data, TorchModelMaker make_network)
      : train_(job.train),
        threads_(job.cluster.threads),
        data_(std::move(data)),
        make_network_(std::move(make_network)) {}

  std::int64_t training_samples() const override { return data_->training_samples; }

  std::unique_ptr<Replica> make_replica() override {
    MOTLEY_CHECK(data_->training.size() > 0, "a replica needs the training samples");
    // Again here: torch keeps the number per thread, and this may be another one.
    set_threads(threads_);
    return std::make_unique<TorchReplica>(make_network_(), data_, train_);
  }

  std::optional<Evaluation> evaluate(const Snapshot& snapshot) override;

  std::string model_file(const Snapshot& snapshot) override {
    // A separate network: a tensor that is a view would be saved with the whole block behind it.
    const auto network = make_network_();
    network->set_training(false);
    load_snapshot(*network, snapshot);
    std::ostringstream out;
    network->save(out);
    return std::move(out).str();
  }

 private:
  TrainSpec train_;
  int threads_;
  std::shared_ptr<const Dataset> data_;
  TorchModelMaker make_network_;
  std::unique_ptr<TorchModel> evaluator_;  // evaluates; made when first needed
};

std::optional<Evaluation> TorchTask::evaluate(const Snapshot& snapshot) {
  MOTLEY_CHECK(data_->test.size() > 0, "an evaluation needs the test samples");
  if (!evaluator_) {
    evaluator_ = make_network_();
    evaluator_->set_training(false);
  }
  load_snapshot(*evaluator_, snapshot);

  const torch::NoGradGuard no_grad;
  Batch batch(data_->shape);
  std::vector<SampleIndex> all(data_->test.size());
  std::iota(all.begin(), all.end(), SampleIndex{0});
  double loss = 0;
  std::int64_t right = 0;
  for (std::size_t begin = 0; begin < all.size(); begin += kEvaluationBatch) {
    const std::size_t count = std::min(kEvaluationBatch, all.size() - begin);
    batch.gather(data_->test, std::span(all).subspan(begin, count));
    const torch::Tensor logits = with_short_errors(
        "the model failed in evaluation", [&] { return evaluator_->forward(batch.features()); });
    loss += summed_loss(logits, batch.labels()).item<double>();
    right += logits.argmax(1).eq(batch.labels()).sum().item<std::int64_t>();
  }
  const auto total = static_cast<double>(all.size());
  return Evaluation{loss / total, static_cast<double>(right) / total};
}

Result<TorchModelMaker> network_maker(const Job& job, const Dataset& data) {
  if (job.model.kind == ModelKind::kTorchscript) {
    return load_torchscript(job.model.path, data.shape, data.classes);
  }
  TorchModelMaker maker = [kind = job.model.kind, shape = data.shape, classes = data.classes,
                           seed = job.seed] { return make_builtin(kind, shape, classes, seed); };
  try {
    if (maker() == nullptr) {
      return fail("model.kind = \"{}\": expected svm, mlp, cnn, resnet20, torchscript or phantom",
                  name_of(job.model.kind));
    }
  } catch (const std::exception& error) {
    return fail("model.kind = \"{}\" cannot be built for this data: {}", name_of(job.model.kind),
                short_reason(error));
  }
  return maker;
}

}  // namespace

Result<std::shared_ptr<Task>> make_torch_task(const Job& job, Dataset data) {
  set_threads(job.cluster.threads);
  auto maker = network_maker(job, data);
  if (!maker) {
    return tl::unexpected(maker.error());
  }
  return std::make_shared<TorchTask>(job, std::make_shared<const Dataset>(std::move(data)),
                                     std::move(*maker));
}

}  // namespace motley
