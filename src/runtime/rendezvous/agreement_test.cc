#include "runtime/rendezvous/agreement.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <vector>

#include "job/keys.h"
#include "job/print.h"
#include "sync/registry.h"

namespace motley::agreement_test {
namespace {

Peer host() { return {.version = "0.1.0", .rank = 0, .host = "a", .pid = 70}; }
Peer a_peer() { return {.version = "0.1.0", .rank = 2, .host = "b", .pid = 77}; }

std::optional<std::string> jobs(const std::string& theirs, const std::string& ours) {
  Peer two = a_peer();
  Peer zero = host();
  two.job = theirs;
  zero.job = ours;
  return job_difference(two, zero);
}

std::optional<std::string> parameters(const std::string& theirs, const std::string& ours) {
  Peer two = a_peer();
  Peer zero = host();
  two.parameters = theirs;
  zero.parameters = ours;
  return parameter_difference(two, zero);
}

TEST(Agreement, Names) {
  Peer peer = a_peer();
  EXPECT_EQ(name_of_peer(peer), "rank 2 (pid 77 on b)");
  EXPECT_EQ(name_of_host(peer), "rank 2 (pid 77 on b)");
  peer.rank.reset();
  EXPECT_EQ(name_of_peer(peer), "a worker (pid 77 on b)");
  EXPECT_EQ(name_of_host(peer), "the coordinator (pid 77 on b)");
}

TEST(Agreement, Versions) {
  Peer peer = a_peer();
  EXPECT_EQ(version_difference(peer, host()), std::nullopt);
  peer.version = "0.2.0";
  EXPECT_EQ(version_difference(peer, host()),
            "rank 2 (pid 77 on b) has motley 0.2.0, rank 0 (pid 70 on a) has 0.1.0");
}

TEST(Agreement, TheKeyOfAJobThatDiffers) {
  Job job = job_schema().default_job();
  const std::string ours = to_toml(job_schema(), job);
  EXPECT_EQ(jobs(ours, ours), std::nullopt);
  job.train.batch = 128;
  EXPECT_EQ(jobs(to_toml(job_schema(), job), ours),
            "train.batch is 128 for rank 2 (pid 77 on b), 256 for rank 0 (pid 70 on a)");
}

TEST(Agreement, TheTableOfAJobThatDiffers) {
  Job job = job_schema().default_job();
  job.cluster.events = {{.at = 1}, {.at = 2}};
  const std::string ours = to_toml(job_schema(), job);
  job.cluster.events[1].speed = 0.5;
  EXPECT_EQ(jobs(to_toml(job_schema(), job), ours),
            "cluster.event[1].speed is 0.5 for rank 2 (pid 77 on b), 1 for rank 0 (pid 70 on a)");
}

TEST(Agreement, AKeyThatOneJobHasNot) {
  const std::string with = "[a]\nx = 1\ny = 2\nz = 3\n";
  const std::string without = "[a]\nx = 1\nz = 3\n";
  EXPECT_EQ(jobs(with, without),
            "a.y is 2 for rank 2 (pid 77 on b), not set for rank 0 (pid 70 on a)");
  EXPECT_EQ(jobs(without, with),
            "a.y is not set for rank 2 (pid 77 on b), 2 for rank 0 (pid 70 on a)");
  EXPECT_EQ(jobs("[a]\nx = 1\ny = 2\n", "[a]\nx = 1\n"),
            "a.y is 2 for rank 2 (pid 77 on b), not set for rank 0 (pid 70 on a)");
}

TEST(Agreement, APeerWithoutAJobAcceptsTheHosts) {
  EXPECT_EQ(jobs("", "x = 1\n"), std::nullopt);
  EXPECT_EQ(jobs("x = 1\n", ""), std::nullopt);
  EXPECT_EQ(parameters("", "w 3\n"), std::nullopt);
  EXPECT_EQ(parameters("w 3\n", ""), std::nullopt);
}

TEST(Agreement, Tensors) {
  const std::string ours = "fc1.weight 64x784\nfc1.bias 64\n";
  EXPECT_EQ(parameters(ours, ours), std::nullopt);
  EXPECT_EQ(parameters("fc1.weight 128x784\nfc1.bias 128\n", ours),
            "fc1.weight is 128x784 for rank 2 (pid 77 on b), 64x784 for rank 0 (pid 70 on a)");
  EXPECT_EQ(parameters("fc1.weight 64x784\nfc2.weight 9\n", ours),
            "rank 2 (pid 77 on b) has fc2.weight 9 where rank 0 (pid 70 on a) has fc1.bias 64");
  EXPECT_EQ(parameters("fc1.weight 64x784\n", ours),
            "rank 0 (pid 70 on a) has fc1.bias 64, rank 2 (pid 77 on b) does not");
  EXPECT_EQ(parameters(ours + "mean 3\n", ours),
            "rank 2 (pid 77 on b) has mean 3, rank 0 (pid 70 on a) does not");
}

TEST(Agreement, UntrustedTextBecomesOneLine) {
  EXPECT_EQ(for_people("a\x1b[2J\nb\x7f"), "a?[2J?b?");
  EXPECT_EQ(for_people(std::string(201, 'x')), std::string(200, 'x') + "...");
  EXPECT_EQ(for_people(std::string(200, 'x')), std::string(200, 'x'));
}

// Jobs with the same keys: they differ if a value differs, and the first difference is named.
RC_GTEST_PROP(Agreement, TheFirstDifferenceIsNamed, ()) {
  const int count = *rc::gen::inRange(1, 12);
  std::string theirs;
  std::string ours;
  std::optional<std::string> first;
  for (int key = 0; key < count; ++key) {
    const int one = *rc::gen::inRange(0, 3);
    const int other = *rc::gen::inRange(0, 3);
    if (key % 3 == 0) {
      theirs += fmt::format("\n[s{}]\n", key);
      ours += fmt::format("\n[s{}]\n", key);
    }
    theirs += fmt::format("k{} = {}\n", key, one);
    ours += fmt::format("k{} = {}\n", key, other);
    if (one != other && !first) {
      first = fmt::format("s{}.k{} is {} for rank 2 (pid 77 on b), {} for rank 0 (pid 70 on a)",
                          key / 3 * 3, key, one, other);
    }
  }
  RC_ASSERT(jobs(theirs, ours) == first);
}

}  // namespace
}  // namespace motley::agreement_test
