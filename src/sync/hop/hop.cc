#include "sync/hop/hop.h"

#include <fmt/format.h>

#include <string>

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

constexpr Range kIterations{0, 1000};  // queues have room for as many models
constexpr int kMostWithEdges = 4096;   // any two of them may be neighbours
constexpr int kMostComplete = 1024;    // who send to each other in every iteration

constexpr Belongs kOfEdges{[](const Job& job, const MethodSchema&) {
                             return job.strategy.of<HopOptions>().graph == GraphKind::kEdges;
                           },
                           "strategy.hop.graph = \"edges\"", true};

std::vector<Key<Job>> hop_keys() {
  return {
      {"strategy.hop.graph", option<&HopOptions::graph>, OneOf{"a graph", kHopGraphs},
       "who sends its model to whom"},
      {"strategy.hop.edges", option<&HopOptions::edges>, Edges{},
       "`[from, to]` for every edge; both ways takes two", kOfEdges},
      {"strategy.hop.mode", option<&HopOptions::mode>, OneOf{"a mode of Hop", kModes},
       "which updates of its neighbours a worker waits for"},
      {"strategy.hop.backup", option<&HopOptions::backup>, Range{0, 65535},
       "in-neighbours whose updates may be missing (mode `backup`)"},
      {"strategy.hop.staleness", option<&HopOptions::staleness>, kIterations,
       "iterations that an update may be old (mode `staleness`)"},
      {"strategy.hop.max_gap", option<&HopOptions::max_gap>, kIterations,
       "tokens: iterations that a worker may be ahead of an out-neighbour; 0 = no tokens"},
      {"strategy.hop.max_jump", option<&HopOptions::max_jump>, kIterations,
       "iterations that a worker far behind goes on at once, `max_gap` at most; 0 = never skip"},
  };
}

// Without tokens a sender may be far ahead where the way back is long, and its updates need room.
Checked check_room(const HopOptions& options, const Graph& graph) {
  constexpr std::int64_t kMostUpdates = 4096;  // of one in-neighbour
  const std::int64_t staleness = rules_of(options).staleness;
  if (options.max_gap > 0 || (staleness + 1) * graph.diameter() < kMostUpdates) {
    return {};
  }
  return JobProblem{
      {"strategy.hop.staleness", "strategy.hop.edges"},
      fmt::format("strategy.hop.edges with staleness {} and no tokens lets workers get {} "
                  "iterations ahead, and queues have no room for that: give strategy.hop.max_gap",
                  staleness, (staleness + 1) * graph.diameter())};
}

// A list of edges must name workers that exist, and let news of everybody reach everybody.
Checked check_edges(const HopOptions& options, int workers) {
  if (workers > kMostWithEdges) {
    return JobProblem{
        {"cluster.workers"},
        fmt::format("cluster.workers is {}, but strategy.hop.graph = \"edges\" takes {} at most",
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
                      fmt::format("strategy.hop.graph = \"complete\" takes {} workers at most, but "
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

// A setting of one choice may stand beside another choice that was made. Where no choice was made,
// it was meant.
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
    return JobProblem{{"strategy.hop.max_gap", "strategy.hop.mode"},
                      "strategy.hop.mode = \"backup\" needs tokens, strategy.hop.max_gap above 0: "
                      "without them nothing bounds the gap between workers"};
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
                    "not \"{}\": neighbours miss the updates of skipped iterations",
                    kModes[static_cast<std::size_t>(options.mode)].name)};
  }
  if (options.max_gap == 0) {
    return JobProblem{
        {"strategy.hop.max_jump"},
        "strategy.hop.max_jump needs tokens, strategy.hop.max_gap above 0: they tell a "
        "worker how far behind it is"};
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
};

}  // namespace motley
