#include "sync/check_dealing.h"

#include "allocate/allocation.h"
#include "motley/allocate/ledger.h"
#include "motley/sync/method.h"

namespace motley {
namespace {

constexpr const char* kNotSticky = "train.sticky = true: a place cannot stay with its worker";

Status check_whole_batches(const TrainSpec& train, std::int64_t samples) {
  if (train.drops_last() && samples < train.batch) {
    return fail(
        "{} leaves nothing to train with: the data set has {} samples, less than a batch "
        "(train.batch = {})",
        train.drop_last ? "train.drop_last = true" : "train.order = \"streams\"", samples,
        train.batch);
  }
  return {};
}

// Places stay where they are if shares, steps and workers stay the same.
Status check_sticky(const Job& job, std::int64_t samples) {
  if (!job.train.sticky) {
    return {};
  }
  if (method_of(job).advance != Advance::kTogether) {
    return fail(
        "{} with strategy.sync = \"{}\", whose workers go at their own pace; use a method "
        "whose workers take steps together",
        kNotSticky, job.strategy.sync);
  }
  if (find_allocation(job.strategy.allocation)->told != CostReport::kNothing) {
    return fail("{} with strategy.allocation = \"{}\"; use equal or static", kNotSticky,
                job.strategy.allocation);
  }
  if (!job.train.drops_last() && samples % job.train.batch != 0) {
    return fail(
        "{} in the last step of an epoch, which has {} samples instead of {}; set "
        "train.drop_last = true",
        kNotSticky, samples % job.train.batch, job.train.batch);
  }
  if (job.cluster.workers > 1 && job.cluster.elastic) {
    return fail("{} when workers are lost or join; set cluster.elastic = false", kNotSticky);
  }
  return {};
}

// Only the last step of an epoch can be too small: all others have a batch.
Status check_min_share(const TrainSpec& train, std::int64_t samples) {
  if (train.batch < train.min_share) {
    return fail("train.min_share is {}, but a step has only {} samples (train.batch)",
                train.min_share, train.batch);
  }
  const std::int64_t rest = train.drops_last() ? 0 : samples % train.batch;
  if (rest > 0 && rest < train.min_share) {
    return fail(
        "train.min_share is {}, but the last step of an epoch has only {} of the {} samples "
        "with train.batch = {}; set train.drop_last = true, or another batch",
        train.min_share, rest, samples, train.batch);
  }
  return {};
}

}  // namespace

Status check_dealing(const Job& job, std::int64_t training_samples) {
  if (job.train.order == SampleOrder::kOwn && !job.of_program()) {
    return fail("train.order = \"program\" is only for programs that set an order of their own");
  }
  for (const Status& status :
       {check_whole_batches(job.train, training_samples), check_sticky(job, training_samples),
        check_min_share(job.train, training_samples)}) {
    if (!status) {
      return status;
    }
  }
  return {};
}

}  // namespace motley
