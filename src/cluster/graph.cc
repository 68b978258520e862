#include "cluster/graph.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/random.h"

namespace motley {
namespace {

void join(std::vector<Edge>& edges, Rank a, Rank b) {
  if (a != b) {
    edges.push_back({a, b});
    edges.push_back({b, a});
  }
}

// On `size` workers from `first` on.
void add_ring(std::vector<Edge>& edges, Rank first, int size) {
  for (int i = 0; i < size; ++i) {
    join(edges, first + i, first + (i + 1) % size);
  }
}

void add_ring_based(std::vector<Edge>& edges, Rank first, int size) {
  add_ring(edges, first, size);
  for (int i = 0; i < size; ++i) {
    join(edges, first + i, first + (i + size / 2) % size);
  }
}

void add_complete(std::vector<Edge>& edges, int size) {
  for (Rank a = 0; a < size; ++a) {
    for (Rank b = 0; b < a; ++b) {
      join(edges, a, b);
    }
  }
}

// Takes the mean out, which averaging leaves as it is; returns the length of the rest.
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

Graph::Graph(int workers, std::span<const Edge> edges) : out_(at(workers)), in_(at(workers)) {
  std::vector<Edge> sorted(edges.begin(), edges.end());
  std::ranges::sort(sorted);
  const auto repeated = std::ranges::unique(sorted);
  sorted.erase(repeated.begin(), repeated.end());
  for (const auto& [from, to] : sorted) {
    MOTLEY_CHECK(from >= 0 && from < workers && to >= 0 && to < workers && from != to,
                 "an edge from {} to {} among {} workers", from, to, workers);
    out_[at(from)].push_back(to);
    in_[at(to)].push_back(from);
  }
}

Graph Graph::named(std::string_view name, int workers) {
  std::vector<Edge> edges;
  if (name == "ring") {
    add_ring(edges, 0, workers);
  } else if (name == "ring_based") {
    add_ring_based(edges, 0, workers);
  } else if (name == "double_ring") {
    MOTLEY_CHECK(workers % 2 == 0, "a double ring of {}", workers);
    const int half = workers / 2;
    add_ring_based(edges, 0, half);
    add_ring_based(edges, half, half);
    for (Rank rank = 0; rank < half; ++rank) {
      join(edges, rank, rank + half);
    }
  } else {
    MOTLEY_CHECK(name == "complete", "no graph has the name {}", name);
    add_complete(edges, workers);
  }
  return Graph(workers, edges);
}

int Graph::smallest_in_degree() const {
  const auto fewest = std::ranges::min_element(in_, {}, &std::vector<Rank>::size);
  return static_cast<int>(fewest->size());
}

// Breadth first.
std::vector<int> Graph::distances(Rank worker, const Neighbours& next) {
  std::vector<int> distance(next.size(), kNoPath);
  std::vector<Rank> reached{worker};
  reached.reserve(next.size());
  distance[at(worker)] = 0;
  for (std::size_t i = 0; i < reached.size() && reached.size() < next.size(); ++i) {
    for (const Rank neighbour : next[at(reached[i])]) {
      if (distance[at(neighbour)] == kNoPath) {
        distance[at(neighbour)] = distance[at(reached[i])] + 1;
        reached.push_back(neighbour);
      }
    }
  }
  return distance;
}

// When worker 0 reaches everybody and everybody reaches worker 0, all reach all.
std::optional<Edge> Graph::first_without_path() const {
  const auto missing = [](const Neighbours& next) -> std::optional<Rank> {
    const auto distance = distances(0, next);
    const auto found = std::ranges::find(distance, kNoPath);
    return found == distance.end() ? std::nullopt
                                   : std::optional(static_cast<Rank>(found - distance.begin()));
  };
  if (const auto rank = missing(out_)) {
    return Edge{0, *rank};
  }
  if (const auto rank = missing(in_)) {
    return Edge{*rank, 0};
  }
  return std::nullopt;
}

int Graph::diameter() const {
  int longest = 0;
  for (Rank worker = 0; worker < size(); ++worker) {
    longest = std::max(longest, std::ranges::max(distances_from(worker)));
  }
  return longest;
}

void Graph::average(std::vector<double>& values) const {
  const std::vector<double> old = values;
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (const Rank neighbour : in_[i]) {
      values[i] += old[at(neighbour)];
    }
    values[i] /= static_cast<double>(in_[i].size() + 1);
  }
}

// Averaging again and again, what is left of any differences shrinks by the second eigenvalue a
// step, in the long run: a power iteration, also for the complex eigenvalues of directed graphs.
double Graph::spectral_gap() const {
  constexpr double kNothing = 1e-12;  // of differences that were about 1
  constexpr double kTolerance = 1e-9;
  constexpr int kMostSteps = 1 << 14;
  std::vector<double> values(out_.size());
  Random random(1);
  std::ranges::generate(values, [&] { return random.normal(); });
  centre(values);

  double logarithm = 0;  // of how much is left
  double before = 0;     // the same, half as many steps ago
  double factor = 0;     // of a step, as far as that can be told
  for (int step = 1; step <= kMostSteps; ++step) {
    average(values);
    const double length = centre(values);
    if (length < kNothing) {
      return 1;
    }
    std::ranges::transform(values, values.begin(), [&](double value) { return value / length; });
    logarithm += std::log(length);
    if (!std::has_single_bit(static_cast<unsigned>(step))) {
      continue;
    }
    const double shrunk = logarithm - std::exchange(before, logarithm);
    const double last = std::exchange(factor, std::exp(shrunk / std::max(step / 2, 1)));
    if (step > 1 && std::abs(factor - last) < kTolerance) {
      break;
    }
  }
  return 1 - factor;
}

}  // namespace motley
