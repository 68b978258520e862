#include "motley/sync/gap_meter.h"

#include <algorithm>
#include <bit>

namespace motley {

GapMeter::GapMeter(int workers) : GapMeter(Graph::of(GraphKind::kComplete, workers)) {}

GapMeter::GapMeter(const Graph& graph)
    : places_(static_cast<std::size_t>(graph.size() / graph.lanes())),
      room_(std::bit_ceil(places_)),
      iteration_(static_cast<std::size_t>(graph.lanes()) * 2 * room_),
      heard_(static_cast<std::size_t>(graph.size()), 0) {
  const auto lanes = static_cast<std::size_t>(graph.lanes());
  int longest = 0;
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    paths_.push_back(graph.distances_from(static_cast<Rank>(lane * places_)));
    longest = std::max(longest, std::ranges::max(paths_.back()));
    Least<std::int64_t>& known = known_.emplace_back(lanes * room_);
    for (std::size_t other = 0; other < lanes; ++other) {
      for (std::size_t place = 0; place < places_; ++place) {
        if (other != lane || place > 0) {  // no worker is ahead of itself
          known.set(other * room_ + place, 0);
        }
      }
    }
  }
  by_distance_.assign(static_cast<std::size_t>(longest), 0);
  for (Rank rank = 0; rank < graph.size(); ++rank) {
    set_iteration(rank, 0);
  }
}

void GapMeter::state(Archive& archive) {
  const std::size_t distances = by_distance_.size();
  archive("by_distance", by_distance_);
  by_distance_.resize(distances);
  archive("behind", behind_);
  archive("farthest", farthest_);
}

void GapMeter::begins(Rank worker, std::int64_t iteration, Seconds at) {
  heard_.set(static_cast<std::size_t>(worker), at);
  events_.push({at, iteration, worker});
  apply_what_is_certain();
}

void GapMeter::leaves(Rank worker, Seconds at) {
  heard_.set(static_cast<std::size_t>(worker), kEver);  // nothing more will come
  end_ = std::min(end_, at);
  apply_what_is_certain();
}

// Everything before the oldest of the workers' latest news is known. Events at the same time have
// no order, so nothing is measured between them.
void GapMeter::apply_what_is_certain() {
  const Seconds certain = std::min(end_, heard_.least());
  while (!events_.empty() && events_.top().at < certain) {
    const Seconds now = events_.top().at;
    moved_.clear();
    for (; !events_.empty() && events_.top().at == now; events_.pop()) {
      set_iteration(events_.top().worker, events_.top().iteration);
      newest_ = std::max(newest_, events_.top().iteration);
      moved_.push_back(events_.top().worker);
    }
    std::ranges::for_each(moved_, [&](Rank worker) {
      measure(worker);
      count_behind(worker);
    });
  }
}

void GapMeter::set_iteration(Rank worker, std::int64_t iteration) {
  const std::size_t lane = static_cast<std::size_t>(worker) / places_;
  const std::size_t place = static_cast<std::size_t>(worker) % places_;
  iteration_.set(lane * 2 * room_ + place, iteration);
  iteration_.set(lane * 2 * room_ + place + places_, iteration);
}

void GapMeter::measure(Rank ahead) {
  const std::size_t lane = static_cast<std::size_t>(ahead) / places_;
  const std::size_t place = static_cast<std::size_t>(ahead) % places_;
  const std::int64_t iteration = iteration_[lane * 2 * room_ + place];
  look_at({lane, place, iteration}, known_[lane].top(), 0);
}

void GapMeter::count_behind(Rank worker) {
  const std::size_t lane = static_cast<std::size_t>(worker) / places_;
  const std::size_t place = static_cast<std::size_t>(worker) % places_;
  const std::int64_t iteration = iteration_[lane * 2 * room_ + place];
  farthest_ = std::max(farthest_, newest_ - iteration);
  const auto behind = static_cast<std::size_t>(std::min(newest_ - iteration, kMostApart));
  behind_.resize(std::max(behind_.size(), behind + 1));
  ++behind_[behind];
}

void GapMeter::look_at(const Ahead& ahead, int level, std::size_t run) {
  const std::int64_t gap = ahead.iteration - slowest_of(ahead, level, run);
  if (gap <= known_[ahead.lane].of_run(level, run)) {
    return;
  }
  if (level == 0) {
    note(ahead, run, gap);
    return;
  }
  look_at(ahead, level - 1, 2 * run);
  look_at(ahead, level - 1, 2 * run + 1);
}

// The slowest of a run, seen from the worker that is ahead; may include a few others next to it.
std::int64_t GapMeter::slowest_of(const Ahead& ahead, int level, std::size_t run) const {
  const std::size_t first = run << level;
  const std::size_t length = std::size_t{1} << level;
  if (length >= room_) {
    return iteration_.of_run(level + 1, run);  // whole lanes
  }
  const std::size_t begin = first / room_ * 2 * room_ + ahead.place + first % room_;
  return std::min(iteration_.of_run(level, begin >> level),
                  iteration_.of_run(level, (begin + length - 1) >> level));
}

// Records a gap. `step` is the lane of the worker behind, and how many places it is from the one
// ahead.
void GapMeter::note(const Ahead& ahead, std::size_t step, std::int64_t gap) {
  const std::size_t lane = step / room_;
  const std::size_t back = (places_ - step % room_) % places_;  // from there to the one ahead
  const int path = paths_[lane][ahead.lane * places_ + back];
  std::int64_t& largest = by_distance_[static_cast<std::size_t>(path - 1)];
  largest = std::max(largest, gap);
  known_[ahead.lane].set(step, largest);
}

std::int64_t GapMeter::largest() const {
  return by_distance_.empty() ? 0 : std::ranges::max(by_distance_);
}

}  // namespace motley
