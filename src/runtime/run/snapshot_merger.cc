#include "runtime/run/snapshot_merger.h"

#include <algorithm>

namespace motley {
namespace {

// Parts of one model have equal lengths. If they do not, missing values count as 0.
void add_to(std::vector<float>& sum, const std::vector<float>& part, float weight) {
  sum.resize(std::max(sum.size(), part.size()), 0.0F);
  for (std::size_t i = 0; i < part.size(); ++i) {
    sum[i] += weight * part[i];
  }
}

}  // namespace

std::optional<SnapshotInfo> SnapshotMerger::add(SnapshotInfo part) {
  const Evaluate evaluate = part.note.evaluate;
  if (evaluate.parts <= 1) {
    return part;
  }
  auto& [so_far, parts] = sums_[evaluate.number];
  const float weight = 1.0F / static_cast<float>(evaluate.parts);
  add_to(so_far.snapshot.parameters, part.snapshot.parameters, weight);
  add_to(so_far.snapshot.buffers, part.snapshot.buffers, weight);
  SnapshotNote& note = so_far.note;
  note.seconds = std::max(note.seconds, part.note.seconds);
  note.samples = std::max(note.samples, part.note.samples);
  if (++parts < evaluate.parts) {
    return std::nullopt;
  }
  SnapshotInfo whole = std::move(so_far);
  sums_.erase(evaluate.number);
  return whole;
}

}  // namespace motley
