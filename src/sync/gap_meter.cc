#include "sync/gap_meter.h"

#include <algorithm>

#include "base/check.h"

namespace motley {
namespace {

constexpr Seconds kEver = 1e18;

}  // namespace

GapMeter::GapMeter(const Graph& graph)
    : iteration_(static_cast<std::size_t>(graph.size()), 0),
      heard_(iteration_.size(), 0),
      by_distance_(static_cast<std::size_t>(graph.diameter()), 0) {
  for (Rank worker = 0; worker < graph.size(); ++worker) {
    paths_.push_back(graph.distances_from(worker));
  }
}

void GapMeter::begins(Rank worker, std::int64_t iteration, Seconds at) {
  MOTLEY_CHECK(iteration >= 0, "iteration {}", iteration);
  heard_[static_cast<std::size_t>(worker)] = at;
  add({at, iteration, worker});
}

void GapMeter::leaves(Rank worker, Seconds at) {
  heard_[static_cast<std::size_t>(worker)] = kEver;  // nothing more will come
  add({at, kNowhere, worker});
}

// All that came before the oldest last news is known.
void GapMeter::add(const Event& event) {
  events_.push(event);
  apply_until(std::ranges::min(heard_));
}

// What happened at one and the same moment has no order, so nothing is measured in between.
void GapMeter::apply_until(Seconds moment) {
  while (!events_.empty() && events_.top().at < moment) {
    const Seconds now = events_.top().at;
    moved_.clear();
    for (; !events_.empty() && events_.top().at == now; events_.pop()) {
      const Event& event = events_.top();
      iteration_[static_cast<std::size_t>(event.worker)] = event.iteration;
      moved_.push_back(event.worker);
    }
    std::ranges::for_each(moved_, [&](Rank worker) { measure(worker); });
  }
}

void GapMeter::measure(Rank ahead) {
  const auto i = static_cast<std::size_t>(ahead);
  if (iteration_[i] == kNowhere) {
    return;
  }
  for (std::size_t j = 0; j < iteration_.size(); ++j) {
    if (j != i && iteration_[j] != kNowhere) {
      std::int64_t& largest = by_distance_[static_cast<std::size_t>(paths_[j][i] - 1)];
      largest = std::max(largest, iteration_[i] - iteration_[j]);
    }
  }
}

std::int64_t GapMeter::largest() const {
  return by_distance_.empty() ? 0 : std::ranges::max(by_distance_);
}

}  // namespace motley
