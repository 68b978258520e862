#include "job/check_strategy.h"

#include <gtest/gtest.h>

#include "motley/sync/hop.h"
#include "motley/sync/method.h"
#include "motley/sync/partial_reduce.h"
#include "tests/job_text.h"

namespace motley {
namespace {

TEST(CheckStrategy, GroupsFitTheCluster) {
  const std::string job = "cluster.workers = 4\n[strategy]\nsync = 'partial_reduce'\n";
  EXPECT_EQ(error_of(job + "partial_reduce.group = 5"),
            "job.toml:4: strategy.partial_reduce.group is 5, but cluster.workers is 4");
  // A single worker has nobody to average with.
  const std::string alone = "cluster.workers = 1\nstrategy.sync = 'partial_reduce'\n";
  EXPECT_EQ(error_of(alone), "accepted");
  EXPECT_EQ(error_of(alone + "strategy.partial_reduce.group = 3"),
            "job.toml:3: strategy.partial_reduce.group is 3, but cluster.workers is 1");
  EXPECT_EQ(
      error_of(job + "partial_reduce.window = 2"),
      "job.toml:4: strategy.partial_reduce.window is 2, but it takes 3 groups of 2 to connect "
      "4 workers");
  EXPECT_EQ(error_of(job + "partial_reduce.filter = 1"),
            "job.toml:4: strategy.partial_reduce.filter is an integer, but should be a boolean");
  EXPECT_EQ(good(job + "partial_reduce.window = 3").strategy.of<PartialReduceOptions>().window, 3);
  EXPECT_EQ(good(job + "partial_reduce.group = 4\npartial_reduce.window = 1")
                .strategy.of<PartialReduceOptions>()
                .window,
            1);
  // As many groups as ten iterations of every worker need.
  EXPECT_EQ(good(job).strategy.of<PartialReduceOptions>().window, 20);
  EXPECT_EQ(good(job + "partial_reduce.group = 3").strategy.of<PartialReduceOptions>().window, 14);
  // With another method they are unused, so any values are allowed.
  EXPECT_EQ(good("strategy.partial_reduce.group = 9\nstrategy.partial_reduce.filter = false")
                .strategy.of<PartialReduceOptions>()
                .filter,
            false);
}

// The error of a job with 4 workers and these settings of Hop, without the prefix "strategy.hop.".
std::string hop_error(const std::string& settings) {
  const std::string message =
      error_of("cluster.workers = 4\n[strategy]\nsync = 'hop'\n[strategy.hop]\n" + settings);
  const std::string place = "job.toml:5: ";
  return message.starts_with(place) ? message.substr(place.size()) : message;
}

TEST(CheckStrategy, SettingsOfHopFitTogether) {
  EXPECT_EQ(hop_error("backup = 2\nmode = 'backup'\nmax_gap = 5"),
            "strategy.hop.backup is 2, but must be below the smallest in-degree of the graph, "
            "which is 2");
  EXPECT_EQ(hop_error("mode = 'backup'"),
            "strategy.hop.mode = \"backup\" needs tokens: set strategy.hop.max_gap above 0; "
            "without tokens nothing bounds the gap between workers");
  EXPECT_EQ(hop_error("staleness = -1"),
            "strategy.hop.staleness is -1, but must be from 0 to 1000");
  EXPECT_EQ(hop_error("max_jump = 2\nmax_gap = 5"),
            "strategy.hop.max_jump needs strategy.hop.mode = \"backup\" or \"staleness\", not "
            "\"standard\": neighbours do not get updates of skipped iterations");
  EXPECT_EQ(
      hop_error("max_jump = 2\nmode = 'staleness'"),
      "strategy.hop.max_jump needs tokens: set strategy.hop.max_gap above 0; tokens tell a worker "
      "how far behind it is");
  EXPECT_EQ(
      hop_error("edges = [[0, 1]]"),
      "strategy.hop.edges is for strategy.hop.graph = \"edges\", but strategy.hop.graph is not "
      "given");
  EXPECT_EQ(
      hop_error("backup = 1"),
      "strategy.hop.backup is for strategy.hop.mode = \"backup\", but strategy.hop.mode is not "
      "given");
  EXPECT_EQ(good("cluster.workers = 4\nstrategy.sync = 'hop'\nstrategy.hop.staleness = 1\n"
                 "strategy.hop.mode = 'standard'")
                .strategy.of<HopOptions>()
                .staleness,
            1);
  EXPECT_EQ(good("cluster.workers = 1\nstrategy.sync = 'hop'\nstrategy.hop.backup = 0\n"
                 "strategy.hop.mode = 'backup'\nstrategy.hop.max_gap = 1")
                .strategy.of<HopOptions>()
                .backup,
            0);
  const Job job = good(
      "cluster.workers = 4\n[strategy]\nsync = 'hop'\n[strategy.hop]\ngraph = 'ring_based'\n"
      "mode = 'backup'\nbackup = 2\nmax_gap = 5\nmax_jump = 10");
  EXPECT_EQ(job.strategy.of<HopOptions>().backup, 2);
  EXPECT_EQ(job.strategy.of<HopOptions>().max_jump, 10);
  // With another method they are unused, so any values are allowed.
  EXPECT_EQ(good("strategy.hop.max_jump = 2\nstrategy.hop.edges = [[0, 9]]").strategy.sync,
            "all_reduce");
}

TEST(CheckStrategy, GraphsAreStronglyConnected) {
  EXPECT_EQ(hop_error("edges = [[0, 1], [1, 2], [2, 3]]\ngraph = 'edges'"),
            "strategy.hop.edges is not strongly connected: no path leads from worker 1 to worker "
            "0");
  EXPECT_EQ(hop_error("edges = [[0, 1], [1, 0]]\ngraph = 'edges'"),
            "strategy.hop.edges is not strongly connected: no path leads from worker 0 to worker "
            "2");
  EXPECT_EQ(hop_error("edges = [[0, 4]]\ngraph = 'edges'"),
            "strategy.hop.edges has [0, 4], but cluster.workers is 4 and ranks count from 0");
  EXPECT_EQ(hop_error("edges = [[0, 0]]"),
            "strategy.hop.edges[0] is from worker 0 to itself; such edges are implicit");
  EXPECT_EQ(hop_error("edges = [[0, 1, 2]]"),
            "strategy.hop.edges[0] should be an edge, [from, to]");
  EXPECT_EQ(hop_error("edges = [[0, -1]]"),
            "strategy.hop.edges[0] is -1, but must be from 0 to 65535");
  EXPECT_EQ(hop_error("edges = 3"),
            "strategy.hop.edges is an integer, but should be an array of edges, [from, to] each");
  EXPECT_EQ(hop_error("graph = 'edges'"),
            "strategy.hop.edges is missing; it is needed for strategy.hop.graph = \"edges\"");
  EXPECT_EQ(error_of("cluster.workers = 5\nstrategy.sync = 'hop'\n"
                     "strategy.hop.graph = 'double_ring'"),
            "job.toml:3: strategy.hop.graph = \"double_ring\" needs an even number of workers, but "
            "cluster.workers is 5");
  EXPECT_EQ(hop_error("staleness = 1000\nmode = 'staleness'\ngraph = 'edges'\n"
                      "edges = [[0, 1], [1, 2], [2, 3], [3, 0], [0, 2]]"),
            "accepted");
  std::string ring = "edges = [";
  for (int rank = 0; rank < 100; ++rank) {
    ring += "[" + std::to_string(rank) + ", " + std::to_string((rank + 1) % 100) + "], ";
  }
  EXPECT_EQ(
      error_of("cluster.workers = 100\nstrategy.sync = 'hop'\n[strategy.hop]\nstaleness = 50\n"
               "mode = 'staleness'\ngraph = 'edges'\n" +
               ring + "]"),
      "job.toml:4: strategy.hop.edges with staleness 50 and no tokens lets workers get 5049 "
      "iterations ahead, which is too far for the queues: set strategy.hop.max_gap");
  EXPECT_EQ(error_of("cluster.workers = 2000\ntrain.batch = 5000\nstrategy.sync = 'hop'\n"
                     "strategy.hop.graph = 'complete'"),
            "job.toml:4: strategy.hop.graph = \"complete\" takes at most 1024 workers, but "
            "cluster.workers is 2000");
  const std::string many = "cluster.workers = 5000\ntrain.batch = 5000\nstrategy.sync = 'hop'\n";
  EXPECT_EQ(error_of(many), "accepted");
  EXPECT_EQ(error_of(many + "strategy.hop.graph = 'edges'\nstrategy.hop.edges = [[0, 1], [1, 0]]"),
            "job.toml:1: cluster.workers is 5000, but strategy.hop.graph = \"edges\" takes at "
            "most 4096");
  EXPECT_EQ(
      error_of("cluster.workers = 5000\ntrain.batch = 5000\nstrategy.sync = 'ad_psgd'"),
      "job.toml:1: cluster.workers is 5000, but strategy.sync = \"ad_psgd\" takes at most 4096");
  const Job job = good(
      "cluster.workers = 4\n[strategy]\nsync = 'hop'\n[strategy.hop]\ngraph = 'edges'\n"
      "edges = [[0, 1], [1, 2], [2, 3], [3, 0]]");
  EXPECT_EQ(job.strategy.of<HopOptions>().graph_among(4).diameter(), 3);
}

TEST(CheckStrategy, ServersAreNotMoreThanWorkers) {
  EXPECT_EQ(error_of("cluster.workers = 2\n[strategy]\nsync = 'ps_asp'\nps.servers = 3"),
            "job.toml:4: strategy.ps.servers is 3, but cluster.workers is 2: there cannot be more "
            "servers than workers");
  EXPECT_EQ(servers_of(good("cluster.workers = 2\n[strategy]\nsync = 'ashl'\nps.servers = 2")), 2);
  // With another method they are unused.
  EXPECT_EQ(servers_of(good("cluster.workers = 2\nstrategy.ps.servers = 3")), 0);
}

TEST(CheckStrategy, MethodsWithSharesOfTheirOwnTakeNoOthers) {
  int refused = 0;
  for (const Method* method : methods()) {
    const std::string sync(method->name());
    const std::string error =
        error_of("[strategy]\nsync = '" + sync + "'\nallocation = 'adaptive'");
    if (!method->schema.own_shares) {
      EXPECT_EQ(error, "accepted");
      continue;
    }
    ++refused;
    EXPECT_EQ(error,
              "job.toml:3: strategy.allocation = \"adaptive\" cannot be combined with "
              "strategy.sync = \"" +
                  sync + "\", which decides itself how much each worker computes");
  }
  EXPECT_GT(refused, 1);
}

TEST(CheckStrategy, ACodecIsForMethodsThatExchangeChanges) {
  int refused = 0;
  for (const Method* method : methods()) {
    const std::string sync(method->name());
    const std::string job = "[strategy]\nsync = '" + sync + "'\ncodec = 'fp16'";
    if (method->schema.exchanges != ExchangeKind::kModels) {
      EXPECT_EQ(good(job).strategy.codec, CodecKind::kFp16);
      continue;
    }
    ++refused;
    EXPECT_EQ(error_of(job),
              "job.toml:3: strategy.codec = \"fp16\" cannot be combined with strategy.sync = \"" +
                  sync +
                  "\", which averages whole models: rounding them would lose what a step changes");
  }
  EXPECT_GT(refused, 2);
}

TEST(CheckStrategy, AshlCompressesUnlessTold) {
  EXPECT_EQ(good("strategy.sync = 'ashl'").strategy.codec, CodecKind::kTopk);
  EXPECT_EQ(good("strategy.sync = 'ashl'\nstrategy.codec = 'none'").strategy.codec,
            CodecKind::kNone);
  EXPECT_EQ(good("strategy.sync = 'adsp'").strategy.codec, CodecKind::kNone);
}

TEST(CheckStrategy, RatiosAndPresetsHaveBounds) {
  const std::pair<const char*, const char*> cases[] = {
      {"topk.ratio = 0", "strategy.topk.ratio is 0, but must be above 0 and at most 1"},
      {"topk.ratio = 1.5", "strategy.topk.ratio is 1.5, but must be above 0 and at most 1"},
      {"ashl.r_preset = 0", "strategy.ashl.r_preset is 0, but must be above 0 and at most 1"},
      {"ashl.h_preset_ahl = 0", "strategy.ashl.h_preset_ahl is 0, but must be from 1 to 1000000"},
      {"ashl.h_preset_shl = 0", "strategy.ashl.h_preset_shl is 0, but must be from 1 to 1000000"},
      {"local_sgd.steps = 0", "strategy.local_sgd.steps is 0, but must be from 1 to 1000000"},
  };
  for (const auto& [line, message] : cases) {
    EXPECT_EQ(error_of(std::string("[strategy]\n") + line), std::string("job.toml:2: ") + message);
  }
}

}  // namespace
}  // namespace motley
