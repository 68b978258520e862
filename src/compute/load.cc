#include "compute/load.h"

#include "compute/torch_loader.h"
#include "job/choices.h"

namespace motley {
namespace {

// Synthetic samples have no shape of their own: if a model needs images, as many features as an
// image of MNIST or CIFAR-10 has become one.
void give_image_shape(Dataset& data) {
  if (data.shape.size() == 1 && data.shape[0] == 784) {
    data.shape = {1, 28, 28};
  } else if (data.shape.size() == 1 && data.shape[0] == 3072) {
    data.shape = {3, 32, 32};
  }
}

Status expect_images(const Job& job, const Dataset& data) {
  if (data.shape.size() != 3) {
    return fail(
        "model.kind = \"{}\" needs images, but the {} data has {} plain features a sample; "
        "use svm or mlp, or data that is images (idx, cifar10, synthetic with features = 784 or "
        "3072)",
        name_of(job.model.kind), name_of(job.data.kind), data.shape[0]);
  }
  if (data.shape[1] < 4 || data.shape[2] < 4) {
    return fail("model.kind = \"{}\" needs images of at least 4 x 4, but {} has {} x {}",
                name_of(job.model.kind), job.data.path, data.shape[1], data.shape[2]);
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<Task>> load_task(const Job& job, Parts parts) {
  if (job.phantom()) {
    return std::make_shared<PhantomTask>(job.data.samples, job.model.parameters);
  }
  auto data = read_dataset(job.data, job.seed, parts);
  if (!data) {
    return tl::unexpected(data.error());
  }
  if (job.model.kind == ModelKind::kCnn || job.model.kind == ModelKind::kResnet20) {
    if (job.data.kind == DataKind::kSynthetic) {
      give_image_shape(*data);
    }
    if (auto ok = expect_images(job, *data); !ok) {
      return tl::unexpected(ok.error());
    }
  }
  return load_torch_task(job, std::move(*data));
}

}  // namespace motley
