#include "runtime/coordinator/checkpoint_handover.h"

#include <utility>

namespace motley {
namespace {

constexpr Seconds kAutoInterval = 600;   // between checkpoints, if the job sets none
constexpr std::size_t kMostWaiting = 3;  // for evaluations; each takes the memory of all states

}  // namespace

bool CheckpointHandover::is_cut_due(Seconds lasted) const {
  return lasted >= kAutoInterval && job_.train.checkpoint_every < 0 && is_wanted();
}

bool CheckpointHandover::is_wanted(bool is_last) const {
  const bool has_room = is_last || whole_.size() < kMostWaiting;
  return monitor_.wants_checkpoints() && !assembly_ && has_room;
}

void CheckpointHandover::begin(std::int64_t number, CheckpointAssembly assembly) {
  number_ = number;
  assembly_.emplace(std::move(assembly));
  evaluations_ = evaluator_.added();
}

void CheckpointHandover::add_whole(std::int64_t samples, State state) {
  whole_.push_back({samples, std::move(state), evaluator_.added()});
}

bool CheckpointHandover::add(Rank process, std::span<const std::byte> chunk) {
  if (!assembly_ || !assembly_->add(process, chunk)) {
    return false;
  }
  if (assembly_->complete()) {
    whole_.push_back({assembly_->samples(), assembly_->take(), evaluations_});
    assembly_.reset();
  }
  return true;
}

void CheckpointHandover::hand_over() {
  while (!whole_.empty() && evaluator_.settled() >= whole_.front().evaluations) {
    monitor_.on_checkpoint(whole_.front().samples, std::move(whole_.front().state));
    whole_.pop_front();
  }
}

}  // namespace motley
