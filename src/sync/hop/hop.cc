#include "sync/hop/hop.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "sync/hop/member_edges.h"
#include "sync/hop/rules.h"

namespace motley {
namespace {

constexpr Choice kHopGraphs[] = {
    choice("ring", GraphKind::kRing),
    choice("ring_based", GraphKind::kRingBased),
    choice("double_ring", GraphKind::kDoubleRing),
    choice("complete", GraphKind::kComplete),
    choice("edges", GraphKind::kEdges),
};
constexpr Choice kModes[] = {
    choice("standard", HopMode::kStandard),
    choice("backup", HopMode::kBackup),
    choice("staleness", HopMode::kStaleness),
    choice("notify_ack", HopMode::kNotifyAck),
};

constexpr Range kIterations{0, 1000};  // queues hold up to this many models
constexpr int kMostWithEdges = 4096;   // any two workers may be neighbours
constexpr int kMostComplete = 1024;    // every worker sends to every other one in every iteration

constexpr Belongs kOfEdges{[](const Job& job, const MethodSchema&) {
                             return job.strategy.of<HopOptions>().graph == GraphKind::kEdges;
                           },
                           "strategy.hop.graph = \"edges\"", true, true};

std::vector<Key<Job>> hop_keys() {
  return {
      {"strategy.hop.graph", option<&HopOptions::graph>, OneOf{"a graph", kHopGraphs},
       "who sends its model to whom"},
      {"strategy.hop.edges", option<&HopOptions::edges>, Edges{},
       "one `[from, to]` for every edge; an edge in both directions needs two", kOfEdges},
      {"strategy.hop.mode", option<&HopOptions::mode>, OneOf{"a mode of Hop", kModes},
       "which updates of its neighbours a worker waits for"},
      {"strategy.hop.backup", option<&HopOptions::backup>, Range{0, 65535},
       "in-neighbours whose updates may be missing (mode `backup`)"},
      {"strategy.hop.staleness", option<&HopOptions::staleness>, kIterations,
       "how many iterations old an update may be (mode `staleness`)"},
      {"strategy.hop.max_gap", option<&HopOptions::max_gap>, kIterations,
       "how many iterations a worker may be ahead of an out-neighbour; 0 = no tokens"},
      {"strategy.hop.max_jump", option<&HopOptions::max_jump>, kIterations,
       "how many iterations a worker far behind may advance at once, at most `max_gap`; 0 = never "
       "skip"},
  };
}

// Without tokens, a sender can get far ahead if the path back to it is long. Its updates then need
// many slots.
Checked check_room(const HopOptions& options, const Graph& graph) {
  constexpr std::int64_t kMostUpdates = 4096;  // of one in-neighbour
  const std::int64_t staleness = rules_of(options).staleness;
  if (options.max_gap > 0 || (staleness + 1) * graph.diameter() < kMostUpdates) {
    return {};
  }
  return JobProblem{
      {"strategy.hop.staleness", "strategy.hop.edges"},
      fmt::format("strategy.hop.edges with staleness {} and no tokens lets workers get {} "
                  "iterations ahead, which is too far for the queues: set strategy.hop.max_gap",
                  staleness, (staleness + 1) * graph.diameter())};
}

// All workers in the list of edges must exist, and every worker must reach every other one.
Checked check_edges(const HopOptions& options, int workers) {
  if (workers > kMostWithEdges) {
    return JobProblem{
        {"cluster.workers"},
        fmt::format("cluster.workers is {}, but strategy.hop.graph = \"edges\" takes at most {}",
                    workers, kMostWithEdges)};
  }
  for (const auto& [from, to] : options.edges) {
    if (from >= workers || to >= workers) {
      return JobProblem{
          {"strategy.hop.edges"},
          fmt::format("strategy.hop.edges has [{}, {}], but cluster.workers is {} and ranks count "
                      "from 0",
                      from, to, workers)};
    }
  }
  const Graph graph = options.graph_among(workers);
  if (const auto gap = graph.first_without_path()) {
    return JobProblem{
        {"strategy.hop.edges"},
        fmt::format("strategy.hop.edges is not strongly connected: no path leads from worker {} to "
                    "worker {}",
                    gap->from, gap->to)};
  }
  return check_room(options, graph);
}

Checked check_graph(const HopOptions& options, int workers) {
  if (options.graph == GraphKind::kComplete && workers > kMostComplete) {
    return JobProblem{{"strategy.hop.graph", "cluster.workers"},
                      fmt::format("strategy.hop.graph = \"complete\" takes at most {} workers, but "
                                  "cluster.workers is {}",
                                  kMostComplete, workers)};
  }
  if (options.graph == GraphKind::kDoubleRing && workers % 2 != 0) {
    return JobProblem{{"strategy.hop.graph", "cluster.workers"},
                      fmt::format("strategy.hop.graph = \"double_ring\" needs an even number of "
                                  "workers, but cluster.workers is {}",
                                  workers)};
  }
  return options.graph == GraphKind::kEdges ? check_edges(options, workers) : std::nullopt;
}

// A setting of a mode or graph that is not chosen is allowed if another one is chosen explicitly.
// If none is chosen, the user probably meant to choose the one that the setting belongs to.
Checked check_choices(const IsGiven& is_given) {
  struct Choosing {
    std::string_view key;
    std::string_view chooser;
    std::string_view choice;
  };
  for (const auto& [key, chooser, choice] :
       {Choosing{"strategy.hop.edges", "strategy.hop.graph", "edges"},
        Choosing{"strategy.hop.backup", "strategy.hop.mode", "backup"},
        Choosing{"strategy.hop.staleness", "strategy.hop.mode", "staleness"}}) {
    if (is_given(key) && !is_given(chooser)) {
      return JobProblem{
          {key},
          fmt::format("{} is for {} = \"{}\", but {} is not given", key, chooser, choice, chooser)};
    }
  }
  return {};
}

Checked check_backup(const HopOptions& options, int workers) {
  if (options.mode != HopMode::kBackup) {
    return {};
  }
  const int fewest = options.graph_among(workers).smallest_in_degree();
  if (options.backup > 0 && options.backup >= fewest) {
    return JobProblem{{"strategy.hop.backup", "strategy.hop.mode"},
                      fmt::format("strategy.hop.backup is {}, but must be below the smallest "
                                  "in-degree of the graph, which is {}",
                                  options.backup, fewest)};
  }
  if (options.max_gap == 0) {
    return JobProblem{
        {"strategy.hop.max_gap", "strategy.hop.mode"},
        "strategy.hop.mode = \"backup\" needs tokens: set strategy.hop.max_gap above 0; "
        "without tokens nothing bounds the gap between workers"};
  }
  return {};
}

Checked check_jumps(const HopOptions& options) {
  if (options.max_jump == 0) {
    return {};
  }
  if (options.mode != HopMode::kBackup && options.mode != HopMode::kStaleness) {
    return JobProblem{
        {"strategy.hop.max_jump"},
        fmt::format("strategy.hop.max_jump needs strategy.hop.mode = \"backup\" or \"staleness\", "
                    "not \"{}\": neighbours do not get updates of skipped iterations",
                    kModes[static_cast<std::size_t>(options.mode)].name)};
  }
  if (options.max_gap == 0) {
    return JobProblem{
        {"strategy.hop.max_jump"},
        "strategy.hop.max_jump needs tokens: set strategy.hop.max_gap above 0; tokens tell "
        "a worker how far behind it is"};
  }
  return {};
}

Checked check_hop(const Job& job, const IsGiven& is_given) {
  const HopOptions& options = job.strategy.of<HopOptions>();
  const int workers = job.cluster.workers;
  Checked problem = check_choices(is_given);
  problem = problem ? problem : check_graph(options, workers);
  problem = problem ? problem : check_backup(options, workers);
  return problem ? problem : check_jumps(options);
}

// With other workers: named graphs are those of the new number, and lists of edges are repaired.
void arrange_hop(Job& job, const std::vector<int>& ids) {
  HopOptions& options = job.strategy.of<HopOptions>();
  const int workers = job.cluster.workers;
  if (options.graph == GraphKind::kDoubleRing && workers % 2 != 0) {
    options.graph = GraphKind::kRingBased;
  }
  if (options.graph == GraphKind::kEdges) {
    const std::vector<Edge> edges = options.edges;
    options.edges = member_edges(edges, ids, EdgeRepair::kFew);
    // A longer way back lets workers get further ahead.
    if (check_room(options, options.graph_among(workers))) {
      options.edges = member_edges(edges, ids, EdgeRepair::kAll);
    }
  }
  if (options.mode == HopMode::kBackup && options.backup > 0) {
    const int fewest = options.graph_among(workers).smallest_in_degree();
    options.backup = std::min(options.backup, std::max(fewest - 1, 0));
  }
}

}  // namespace

const Method kHop = {
    .schema = {.name = "hop",
               .summary = "workers average with their neighbours on a graph, and queues bound how "
                          "far they drift apart (Luo et al.)",
               .keys = hop_keys(),
               .exchanges = ExchangeKind::kModels,
               .check = check_hop},
    .advance = Advance::kAtOwnPace,
    .make = make_hop,
    .serve = serve_hop,
    .fit = fit_hop,
    .arrange = arrange_hop,
};

}  // namespace motley
