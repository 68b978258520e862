#include "sync/gap_meter.h"

#include <algorithm>

namespace motley {

GapMeter::GapMeter(int workers)
    : iteration_(static_cast<std::size_t>(workers), 0),
      heard_(iteration_.size(), 0),
      by_distance_(1, 0) {}

GapMeter::GapMeter(const Graph& graph) : GapMeter(graph.size()) {
  paths_ = graph.all_distances();
  int longest = 0;
  for (const auto& paths : paths_) {
    longest = std::max(longest, std::ranges::max(paths));
  }
  by_distance_.assign(static_cast<std::size_t>(longest), 0);
}

void GapMeter::begins(Rank worker, std::int64_t iteration, Seconds at) {
  heard_[static_cast<std::size_t>(worker)] = at;
  events_.push({at, iteration, worker});
  apply_what_is_certain();
}

void GapMeter::leaves(Rank worker, Seconds at) {
  heard_[static_cast<std::size_t>(worker)] = kEver;  // nothing more will come
  end_ = std::min(end_, at);
  apply_what_is_certain();
}

// All is known that came before the oldest of the workers' last news. What happened at one and the
// same moment has no order, so nothing is measured in between.
void GapMeter::apply_what_is_certain() {
  const Seconds certain = std::min(end_, std::ranges::min(heard_));
  while (!events_.empty() && events_.top().at < certain) {
    const Seconds now = events_.top().at;
    moved_.clear();
    for (; !events_.empty() && events_.top().at == now; events_.pop()) {
      iteration_[static_cast<std::size_t>(events_.top().worker)] = events_.top().iteration;
      moved_.push_back(events_.top().worker);
    }
    std::ranges::for_each(moved_, [&](Rank worker) { measure(worker); });
  }
}

void GapMeter::measure(Rank ahead) {
  const auto i = static_cast<std::size_t>(ahead);
  for (std::size_t j = 0; j < iteration_.size(); ++j) {
    if (j != i) {
      const int path = paths_.empty() ? 1 : paths_[j][i];
      std::int64_t& largest = by_distance_[static_cast<std::size_t>(path - 1)];
      largest = std::max(largest, iteration_[i] - iteration_[j]);
    }
  }
}

std::int64_t GapMeter::largest() const {
  return by_distance_.empty() ? 0 : std::ranges::max(by_distance_);
}

}  // namespace motley
