#include "job/check_strategy.h"

#include <fmt/format.h>

namespace motley {
namespace {

// Groups of P workers: P of them there must be, and a window in which they can connect all.
Status check_partial_reduce(const Job& job, const Document& document) {
  const PartialReduceSpec& spec = job.strategy.partial_reduce;
  const int workers = job.cluster.workers;
  if (spec.group > workers) {
    return tl::unexpected(document.error_at(
        {"strategy.partial_reduce.group", "cluster.workers", "strategy.sync"},
        fmt::format("strategy.partial_reduce.group is {}, but cluster.workers is {}", spec.group,
                    workers)));
  }
  if (const std::int64_t fewest = spec.fewest_among(workers); *spec.window < fewest) {
    return tl::unexpected(document.error_at(
        {"strategy.partial_reduce.window"},
        fmt::format("strategy.partial_reduce.window is {}, but it takes {} groups of {} to connect "
                    "{} workers",
                    *spec.window, fewest, spec.group, workers)));
  }
  return {};
}

// Where any two workers may be neighbours, there is an end to how many there are.
Status check_crowd(std::string_view choice, const Job& job, const Document& document) {
  constexpr int kMostWorkers = 4096;
  if (job.cluster.workers <= kMostWorkers) {
    return {};
  }
  return tl::unexpected(document.error_at(
      {"cluster.workers"}, fmt::format("cluster.workers is {}, but {} takes {} at most",
                                       job.cluster.workers, choice, kMostWorkers)));
}

// Without tokens a sender may be far ahead where the way back is long, and its updates need room.
Status check_room(const HopSpec& spec, const Graph& graph, const Document& document) {
  constexpr std::int64_t kMostUpdates = 4096;  // of one in-neighbour
  const std::int64_t staleness = spec.mode == "staleness" ? spec.staleness : 0;
  if (spec.max_gap > 0 || (staleness + 1) * graph.diameter() < kMostUpdates) {
    return {};
  }
  return tl::unexpected(document.error_at(
      {"strategy.hop.staleness", "strategy.hop.edges"},
      fmt::format("strategy.hop.edges with staleness {} and no tokens lets workers get {} "
                  "iterations ahead, and queues have no room for that: give strategy.hop.max_gap",
                  staleness, (staleness + 1) * graph.diameter())));
}

// A graph of these workers on which news of everybody reaches everybody.
Status check_graph(const Job& job, const Document& document) {
  const HopSpec& spec = job.strategy.hop;
  const int workers = job.cluster.workers;
  constexpr int kMostComplete = 1024;  // who send to each other in every iteration
  if (spec.graph == "complete" && workers > kMostComplete) {
    return tl::unexpected(document.error_at(
        {"strategy.hop.graph", "cluster.workers"},
        fmt::format("strategy.hop.graph = \"complete\" takes {} workers at most, but "
                    "cluster.workers is {}",
                    kMostComplete, workers)));
  }
  if (spec.graph == "double_ring" && workers % 2 != 0) {
    return tl::unexpected(document.error_at(
        {"strategy.hop.graph", "cluster.workers"},
        fmt::format("strategy.hop.graph = \"double_ring\" needs an even number of workers, but "
                    "cluster.workers is {}",
                    workers)));
  }
  if (spec.graph != "edges") {
    return {};
  }
  for (const auto& [from, to] : spec.edges) {
    if (from >= workers || to >= workers) {
      return tl::unexpected(document.error_at(
          {"strategy.hop.edges"},
          fmt::format("strategy.hop.edges has [{}, {}], but cluster.workers is {} and ranks count "
                      "from 0",
                      from, to, workers)));
    }
  }
  const Graph graph = spec.graph_among(workers);
  if (const auto gap = graph.first_without_path()) {
    return tl::unexpected(document.error_at(
        {"strategy.hop.edges"},
        fmt::format("strategy.hop.edges is not strongly connected: no path leads from worker {} to "
                    "worker {}",
                    gap->from, gap->to)));
  }
  return check_room(spec, graph, document);
}

// A setting of one choice may stand beside another choice that was made, but not where none was:
// there it was meant.
Status check_choices(const Document& document) {
  struct Choosing {
    std::string_view key;
    std::string_view chooser;
    std::string_view choice;
  };
  for (const auto& [key, chooser, choice] :
       {Choosing{"strategy.hop.edges", "strategy.hop.graph", "edges"},
        Choosing{"strategy.hop.backup", "strategy.hop.mode", "backup"},
        Choosing{"strategy.hop.staleness", "strategy.hop.mode", "staleness"}}) {
    if (document.find(key) && !document.find(chooser)) {
      return tl::unexpected(
          document.error_at({key}, fmt::format("{} is for {} = \"{}\", but {} is not given", key,
                                               chooser, choice, chooser)));
    }
  }
  return {};
}

// Which settings of Hop need which.
Status check_hop(const Job& job, const Document& document) {
  const HopSpec& spec = job.strategy.hop;
  const bool has_backup = spec.mode == "backup";
  const bool may_skip = has_backup || spec.mode == "staleness";
  Status status = check_choices(document);
  if (status && spec.graph == "edges") {
    status = check_crowd("strategy.hop.graph = \"edges\"", job, document);
  }
  status = status ? check_graph(job, document) : status;
  if (!status) {
    return status;
  }
  const int fewest = spec.graph_among(job.cluster.workers).smallest_in_degree();
  if (has_backup && spec.backup > 0 && spec.backup >= fewest) {
    return tl::unexpected(document.error_at(
        {"strategy.hop.backup", "strategy.hop.mode"},
        fmt::format("strategy.hop.backup is {}, but must be below the smallest in-degree of the "
                    "graph, which is {}",
                    spec.backup, fewest)));
  }
  if (has_backup && spec.max_gap == 0) {
    return tl::unexpected(document.error_at(
        {"strategy.hop.max_gap", "strategy.hop.mode"},
        "strategy.hop.mode = \"backup\" needs tokens, strategy.hop.max_gap above 0: without them "
        "nothing bounds the gap between workers"));
  }
  if (spec.max_jump > 0 && !may_skip) {
    return tl::unexpected(document.error_at(
        {"strategy.hop.max_jump"},
        fmt::format("strategy.hop.max_jump needs strategy.hop.mode = \"backup\" or \"staleness\", "
                    "not \"{}\": neighbours miss the updates of skipped iterations",
                    spec.mode)));
  }
  if (spec.max_jump > 0 && spec.max_gap == 0) {
    return tl::unexpected(document.error_at(
        {"strategy.hop.max_jump"},
        "strategy.hop.max_jump needs tokens, strategy.hop.max_gap above 0: they tell a worker how "
        "far behind it is"));
  }
  return {};
}

// Servers share the parameters and the workers' traffic: more of them than workers have none to do.
Status check_servers(const Job& job, const Document& document) {
  if (job.servers() <= job.cluster.workers) {
    return {};
  }
  return tl::unexpected(document.error_at(
      {"strategy.ps.servers", "cluster.workers"},
      fmt::format("strategy.ps.servers is {}, but cluster.workers is {}: there cannot be more "
                  "servers than workers",
                  job.servers(), job.cluster.workers)));
}

// Methods that decide themselves how many iterations each worker does in a round.
Status check_own_shares(const Job& job, const Document& document) {
  if (job.strategy.allocation == "equal") {
    return {};
  }
  return tl::unexpected(document.error_at(
      {"strategy.allocation"},
      fmt::format("strategy.allocation = \"{}\" cannot be combined with strategy.sync = \"{}\", "
                  "which decides itself how much each worker computes",
                  job.strategy.allocation, job.strategy.sync)));
}

// Rounding whole models again and again loses what a step changed; what can be rounded is changes.
Status check_codec(const Job& job, const Document& document) {
  const std::string& sync = job.strategy.sync;
  const bool exchanges_models = sync == "partial_reduce" || sync == "hop" || sync == "ad_psgd";
  if (job.strategy.codec == "none" || !exchanges_models) {
    return {};
  }
  return tl::unexpected(document.error_at(
      {"strategy.codec", "strategy.sync"},
      fmt::format("strategy.codec = \"{}\" cannot be combined with strategy.sync = \"{}\", which "
                  "averages whole models: rounding them would lose what a step changes",
                  job.strategy.codec, sync)));
}

// What only one method asks.
Status check_method(const Job& job, const Document& document) {
  if (job.strategy.sync == "partial_reduce") {
    return check_partial_reduce(job, document);
  }
  if (job.strategy.sync == "hop") {
    return check_hop(job, document);
  }
  if (job.strategy.sync == "ad_psgd") {
    return check_crowd("strategy.sync = \"ad_psgd\"", job, document);
  }
  if (job.strategy.sync == "adsp" || job.strategy.sync == "ashl") {
    return check_own_shares(job, document);
  }
  return {};
}

}  // namespace

Status check_strategy(const Job& job, const Document& document) {
  Status status = check_codec(job, document);
  status = status ? check_servers(job, document) : status;
  return status ? check_method(job, document) : status;
}

}  // namespace motley
