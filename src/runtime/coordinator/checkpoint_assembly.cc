#include "runtime/coordinator/checkpoint_assembly.h"

#include <utility>

#include "runtime/run/run_position.h"

namespace motley {

CheckpointAssembly::CheckpointAssembly(int workers, std::int64_t samples, State own,
                                       const std::vector<Rank>& processes)
    : workers_(workers), samples_(samples), state_(std::move(own)) {
  for (std::size_t rank = 0; rank < processes.size(); ++rank) {
    missing_[processes[rank]].rank = static_cast<Rank>(rank);
  }
}

bool CheckpointAssembly::add(Rank process, std::span<const std::byte> chunk) {
  const auto found = missing_.find(process);
  if (found == missing_.end() || !found->second.state.add(chunk)) {
    return false;
  }
  Part& part = found->second;
  if (part.state.complete()) {
    state_.put(path_of_process(workers_, part.rank), part.state.take());
    missing_.erase(found);
  }
  return true;
}

}  // namespace motley
