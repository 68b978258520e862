#include "runtime/calibrate/measured_links.h"

#include <gtest/gtest.h>

#include <map>

namespace motley {
namespace {

using Rates = std::vector<double>;
using Keys = std::map<std::string, std::string>;

// Each rank on a machine of its own.
MeasuredLinks links_between(const Rates& up, const Rates& down) {
  MeasuredLinks links;
  const std::size_t count = up.size();
  links.latency.assign(count, Rates(count, 1e-4));
  links.up = up;
  links.down = down;
  for (std::size_t i = 0; i < count; ++i) {
    links.machines.push_back(static_cast<int>(i));
    links.latency[i][i] = 0;
    links.together += std::min(up[i], down[(i + 1) % count]);
  }
  return links;
}

Keys all_keys_of(const MeasuredLinks& links, const ClusterSpec& cluster, int servers = 0) {
  Keys keys;
  for (const Setting& setting : settings_of(links, cluster, servers)) {
    keys[setting.key] = setting.value;
  }
  return keys;
}

// Without the memory, which is always there.
Keys keys_of(const MeasuredLinks& links, int workers, int servers = 0) {
  ClusterSpec cluster;
  cluster.workers = workers;
  Keys keys = all_keys_of(links, cluster, servers);
  keys.erase("memory_bandwidth");
  return keys;
}

TEST(MeasuredLinks, EqualLinksAreOneNumber) {
  EXPECT_EQ(keys_of(links_between({1e8, 1.02e8, 1.01e8}, {1.01e8, 1e8, 1.02e8}), 3),
            (Keys{{"latency", "0.0001"}, {"bandwidth", "1.01e+08"}}));
}

TEST(MeasuredLinks, UnlikeWorkersAreAList) {
  EXPECT_EQ(keys_of(links_between({1e8, 1e7}, {1e8, 1e7}), 2),
            (Keys{{"latency", "0.0001"}, {"bandwidth", "[1e+08, 1e+07]"}}));
}

TEST(MeasuredLinks, ALinkMayBeUnlikeInBothDirections) {
  EXPECT_EQ(
      keys_of(links_between({1e8, 1e7}, {1e8, 1e8}), 2),
      (Keys{
          {"latency", "0.0001"}, {"bandwidth_up", "[1e+08, 1e+07]"}, {"bandwidth_down", "1e+08"}}));
}

TEST(MeasuredLinks, OneServerStandsForAll) {
  const MeasuredLinks links = links_between({1e8, 1e8, 8e8}, {1e8, 1e8, 8e8});
  EXPECT_EQ(keys_of(links, 2, 1),
            (Keys{{"latency", "0.0001"}, {"bandwidth", "1e+08"}, {"server_bandwidth", "8e+08"}}));
  EXPECT_EQ(keys_of(links, 2, 2).at("server_hosts"), "[2, 2]");
}

TEST(MeasuredLinks, AFarWorkerHasALatencyOfItsOwn) {
  MeasuredLinks links = links_between({1e8, 1e8, 1e8}, {1e8, 1e8, 1e8});
  links.latency = {{0, 1e-4, 5e-3}, {1e-4, 0, 5.1e-3}, {5e-3, 5.1e-3, 0}};
  EXPECT_EQ(keys_of(links, 3).at("latency"), "[0.0001, 0.0001, 0.005]");
}

TEST(MeasuredLinks, OtherLatenciesAreAMatrixOfTheWorkers) {
  MeasuredLinks links = links_between({1e8, 1e8, 1e8}, {1e8, 1e8, 1e8});
  links.latency = {{0, 1e-3, 3e-3}, {1e-3, 0, 2e-3}, {3e-3, 2e-3, 0}};
  EXPECT_EQ(keys_of(links, 2, 1).at("latency"), "[[0, 0.001], [0.001, 0]]");
}

// Smaller differences are those of threads that wake sooner or later.
TEST(MeasuredLinks, AFewMicrosecondsAreNoDifference) {
  MeasuredLinks links = links_between({1e8, 1e8, 1e8}, {1e8, 1e8, 1e8});
  links.latency = {{0, 3e-5, 5e-5}, {3e-5, 0, 9e-5}, {5e-5, 9e-5, 0}};
  EXPECT_EQ(keys_of(links, 3).at("latency"), "5e-05");
}

TEST(MeasuredLinks, WorkersOfOneMachineShareItsLink) {
  MeasuredLinks links = links_between({1e8, 2e8}, {1e8, 2e8});
  links.machines = {0, 0, 1, 0};
  links.within = {1e-5, 5e9};
  EXPECT_EQ(keys_of(links, 3, 1), (Keys{{"hosts", "[0, 0, 1]"},
                                        {"memory_latency", "1e-05"},
                                        {"latency", "0.0001"},
                                        {"bandwidth", "[1e+08, 1e+08, 2e+08]"},
                                        {"server_hosts", "[0]"}}));
}

TEST(MeasuredLinks, OnOneMachineEachWorkerHasALink) {
  MeasuredLinks links;
  links.machines = {0, 0, 0};
  links.within = {2e-5, 3e9};
  EXPECT_EQ(keys_of(links, 3), (Keys{{"latency", "2e-05"}, {"bandwidth", "3e+09"}}));
}

TEST(MeasuredLinks, WhatAllShareIsTheBackbone) {
  MeasuredLinks links = links_between({1e8, 1e8, 1e8, 1e8}, {1e8, 1e8, 1e8, 1e8});
  EXPECT_FALSE(keys_of(links, 4).contains("backbone"));
  links.together = 1e8;
  EXPECT_EQ(keys_of(links, 4).at("backbone"), "1e+08");
}

TEST(MeasuredLinks, ConnectionsMayShareUnevenly) {
  MeasuredLinks links = links_between({1e8, 1e8, 1e8}, {1e8, 1e8, 1e8});
  EXPECT_FALSE(keys_of(links, 3).contains("unevenness"));
  links.unevenness = 0.1234;
  EXPECT_EQ(keys_of(links, 3).at("unevenness"), "0.12");
}

TEST(MeasuredLinks, ReplacesWhatTheJobSaidOtherwise) {
  ClusterSpec cluster;
  cluster.workers = 2;
  cluster.bandwidth_up = {1, 2};
  cluster.backbone = 3;
  cluster.tcp_efficiency = 0.9;
  MeasuredLinks links = links_between({1e8, 1e8}, {1e8, 1e8});
  links.memory_bandwidth = 7e9;
  EXPECT_EQ(all_keys_of(links, cluster), (Keys{{"latency", "0.0001"},
                                               {"bandwidth", "1e+08"},
                                               {"bandwidth_up", "1e+08"},
                                               {"memory_bandwidth", "7e+09"},
                                               {"backbone", "1e+15"},
                                               {"tcp_efficiency", "1"}}));
}

TEST(MeasuredLinks, FiguresHoldAll) {
  MeasuredLinks links = links_between({1e8, 2e8}, {3e8, 4e8});
  links.within = {1e-5, 5e9};
  links.unevenness = 0.2;
  const auto again = links_of(figures_of(links));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->machines, links.machines);
  EXPECT_EQ(again->latency, links.latency);
  EXPECT_EQ(again->up, links.up);
  EXPECT_EQ(again->down, links.down);
  EXPECT_EQ(again->together, links.together);
  EXPECT_EQ(again->unevenness, links.unevenness);
  EXPECT_EQ(again->within->bandwidth, links.within->bandwidth);
  EXPECT_FALSE(links_of({}));
}

}  // namespace
}  // namespace motley
