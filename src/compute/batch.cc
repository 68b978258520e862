#include "compute/batch.h"

namespace motley {

Batch::Batch(std::vector<std::int64_t> shape) : shape_(std::move(shape)) {
  shape_.insert(shape_.begin(), 0);
}

void Batch::gather(const SampleTable& samples, std::span<const SampleIndex> rows) {
  const auto count = static_cast<std::int64_t>(rows.size());
  if (count != shape_[0]) {
    shape_[0] = count;
    if (!feature_room_.defined() || feature_room_.size(0) < count) {
      feature_room_ = torch::empty(shape_);
      label_room_ = torch::empty({count}, torch::kInt64);
    }
    features_ = feature_room_.narrow(0, 0, count);
    labels_ = label_room_.narrow(0, 0, count);
  }
  samples.gather(rows, {features_.data_ptr<float>(), rows.size() * samples.width()},
                 {labels_.data_ptr<std::int64_t>(), rows.size()});
}

}  // namespace motley
