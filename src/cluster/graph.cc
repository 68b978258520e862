#include "motley/cluster/graph.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/random.h"

namespace motley {
namespace {

std::size_t at(Rank worker) { return static_cast<std::size_t>(worker); }

// Sorts, and removes duplicates and the worker itself.
std::vector<Rank> tidy(std::vector<Rank> ranks, Rank self) {
  std::ranges::sort(ranks);
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());  // clang 14 has no subranges
  std::erase(ranks, self);
  return ranks;
}

std::vector<Rank> ring(Rank self, int workers) {
  return tidy({(self + 1) % workers, (self + workers - 1) % workers}, self);
}

std::vector<Rank> ring_based(Rank self, int workers) {
  std::vector<Rank> ranks = ring(self, workers);
  ranks.push_back((self + workers / 2) % workers);
  ranks.push_back((self + workers - workers / 2) % workers);
  return tidy(std::move(ranks), self);
}

std::vector<Rank> double_ring(Rank self, int workers) {
  const int half = workers / 2;
  const Rank first = self < half ? 0 : half;
  std::vector<Rank> ranks = ring_based(self - first, half);
  std::ranges::for_each(ranks, [&](Rank& rank) { rank += first; });
  ranks.push_back((self + half) % workers);
  return tidy(std::move(ranks), self);
}

std::vector<Rank> complete(Rank self, int workers) {
  std::vector<Rank> ranks;
  for (Rank rank = 0; rank < workers; ++rank) {
    if (rank != self) {
      ranks.push_back(rank);
    }
  }
  return ranks;
}

// Breadth-first search from a worker; `next` gives the neighbours of a worker. Stops when all
// workers in `enough` were reached, or all.
template <class Next>
std::vector<int> distances(Rank worker, int workers, Next next,
                           const std::vector<Rank>* enough = nullptr) {
  std::vector<int> distance(at(workers), Graph::kNoPath);
  std::vector<Rank> reached{worker};
  reached.reserve(at(workers));
  distance[at(worker)] = 0;
  const auto is_enough = [&] {
    return reached.size() == at(workers) || (enough && std::ranges::all_of(*enough, [&](Rank rank) {
                                               return distance[at(rank)] != Graph::kNoPath;
                                             }));
  };
  for (std::size_t i = 0; i < reached.size() && !is_enough(); ++i) {
    for (const Rank neighbour : next(reached[i])) {
      if (distance[at(neighbour)] == Graph::kNoPath) {
        distance[at(neighbour)] = distance[at(reached[i])] + 1;
        reached.push_back(neighbour);
      }
    }
  }
  return distance;
}

// Replaces every value by the mean of itself and its in-neighbours.
void average(std::vector<double>& values, const std::vector<std::vector<Rank>>& in) {
  const std::vector<double> old = values;
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (const Rank neighbour : in[i]) {
      values[i] += old[at(neighbour)];
    }
    values[i] /= static_cast<double>(in[i].size() + 1);
  }
}

// Subtracts the mean, which averaging does not change; returns the norm of the rest.
double centre(std::vector<double>& values) {
  double mean = 0;
  for (const double value : values) {
    mean += value / static_cast<double>(values.size());
  }
  double squares = 0;
  for (double& value : values) {
    value -= mean;
    squares += value * value;
  }
  return std::sqrt(squares);
}

}  // namespace

Graph::Graph(int workers, std::span<const Edge> edges)
    : size_(workers), lanes_(workers), out_(at(workers)), in_(at(workers)) {
  for (const auto& [from, to] : edges) {
    MOTLEY_CHECK(from >= 0 && from < workers && to >= 0 && to < workers && from != to,
                 "edge from {} to {} among {} workers", from, to, workers);
    out_[at(from)].push_back(to);
    in_[at(to)].push_back(from);
  }
  for (Rank rank = 0; rank < workers; ++rank) {
    out_[at(rank)] = tidy(std::move(out_[at(rank)]), rank);
    in_[at(rank)] = tidy(std::move(in_[at(rank)]), rank);
  }
}

Graph Graph::of(GraphKind kind, int workers) {
  constexpr Named kNeighbours[] = {ring, ring_based, double_ring, complete};  // in order of kinds
  MOTLEY_CHECK(kind != GraphKind::kEdges, "kEdges is not a named graph");
  const bool is_double = kind == GraphKind::kDoubleRing;
  MOTLEY_CHECK(!is_double || workers % 2 == 0, "a double ring of {}", workers);
  return {workers, is_double ? 2 : 1, kNeighbours[static_cast<std::size_t>(kind)]};
}

std::vector<Rank> Graph::out_neighbours(Rank worker) const {
  return named_ ? named_(worker, size_) : out_[at(worker)];
}

std::vector<Rank> Graph::in_neighbours(Rank worker) const {
  return named_ ? named_(worker, size_) : in_[at(worker)];
}

Graph::Neighbours Graph::all_in() const {
  Neighbours all;
  for (Rank rank = 0; rank < size_; ++rank) {
    all.push_back(in_neighbours(rank));
  }
  return all;
}

int Graph::smallest_in_degree() const {
  std::size_t fewest = at(size_);
  for (Rank rank = 0; rank < size_; ++rank) {
    fewest = std::min(fewest, in_neighbours(rank).size());
  }
  return static_cast<int>(fewest);
}

std::vector<int> Graph::distances_from(Rank worker) const {
  return distances(worker, size_, [&](Rank rank) { return out_neighbours(rank); });
}

int Graph::longest_way_to_in_neighbour(Rank worker) const {
  const std::vector<Rank> in = in_neighbours(worker);
  const auto distance = distances(
      worker, size_, [&](Rank rank) { return out_neighbours(rank); }, &in);
  int longest = 0;
  for (const Rank rank : in) {
    longest = std::max(longest, distance[at(rank)]);
  }
  return longest;
}

// If worker 0 reaches all workers and all reach worker 0, all reach each other.
std::optional<Edge> Graph::first_without_path() const {
  const auto first = [](const std::vector<int>& distance) {
    return std::ranges::find(distance, kNoPath) - distance.begin();
  };
  if (const auto rank = first(distances_from(0)); rank < size_) {
    return Edge{0, static_cast<Rank>(rank)};
  }
  const auto back = distances(0, size_, [&](Rank rank) { return in_neighbours(rank); });
  if (const auto rank = first(back); rank < size_) {
    return Edge{static_cast<Rank>(rank), 0};
  }
  return std::nullopt;
}

int Graph::diameter() const {
  int longest = 0;
  for (Rank rank = 0; rank < size_; rank += size_ / lanes_) {
    longest = std::max(longest, std::ranges::max(distances_from(rank)));
  }
  return longest;
}

// Under repeated averaging any difference eventually shrinks by the second eigenvalue per step.
// This is a power iteration; it also works for the complex eigenvalues of directed graphs.
std::optional<double> Graph::spectral_gap() const {
  constexpr double kNothing = 1e-12;   // relative to differences of about 1
  constexpr double kTolerance = 1e-4;  // of the gap
  constexpr double kMostWork = 2e8;    // edges visited
  const Neighbours in = all_in();
  std::size_t edges = in.size();
  for (const auto& neighbours : in) {
    edges += neighbours.size();
  }
  std::vector<double> values(in.size());
  Random random(1);
  std::ranges::generate(values, [&] { return random.normal(); });
  centre(values);

  double logarithm = 0;  // of the remaining norm
  double before = 0;     // the same, half as many steps ago
  double gap = 1;        // current estimate
  const auto most_steps = static_cast<unsigned>(kMostWork / static_cast<double>(edges));
  for (unsigned step = 1; step <= std::max(most_steps, 4U); ++step) {
    average(values, in);
    const double length = centre(values);
    if (length < kNothing) {
      return 1;
    }
    std::ranges::transform(values, values.begin(), [&](double value) { return value / length; });
    logarithm += std::log(length);
    if (!std::has_single_bit(step)) {
      continue;
    }
    const double shrunk = logarithm - std::exchange(before, logarithm);
    const double last = std::exchange(gap, -std::expm1(shrunk / std::max(step / 2, 1U)));
    if (step > 1 && std::abs(gap - last) < kTolerance * gap) {
      return gap;
    }
  }
  return std::nullopt;
}

}  // namespace motley
