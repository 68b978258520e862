#include "job/edit.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/random.h"
#include "job/print.h"
#include "sync/registry.h"
#include "tests/job_text.h"

namespace motley {
namespace {

const std::vector<Setting> kLinks = {{"latency", "2e-05"}, {"bandwidth", "3e+09"}};

std::string edited(std::string_view text) {
  const auto result = with_settings(text, "job.toml", "cluster", kLinks);
  return result ? *result : result.error().message;
}

TEST(Edit, ReplacesWhatIsThereAndNothingElse) {
  EXPECT_EQ(edited("name = 'a' # b\n[cluster] # c\nbandwidth = [1e9, # é\n 2e9] # d\nworkers = 2\n"
                   "latency=1e-3#e\n[train]\nlr = 0.1"),
            "name = 'a' # b\n[cluster] # c\nbandwidth = 3e+09 # d\nworkers = 2\n"
            "latency=2e-05#e\n[train]\nlr = 0.1");
  EXPECT_EQ(edited("cluster = {workers = 2, latency = 1, bandwidth = 7} # é"),
            "cluster = {workers = 2, latency = 2e-05, bandwidth = 3e+09} # é");
  EXPECT_EQ(edited("cluster.latency = 1\ncluster.bandwidth = 1 # é"),
            "cluster.latency = 2e-05\ncluster.bandwidth = 3e+09 # é");
}

TEST(Edit, AddsWhatIsMissingBehindTheHeader) {
  EXPECT_EQ(edited("[cluster]\nworkers = 2\n"),
            "[cluster]\nbandwidth = 3e+09\nlatency = 2e-05\nworkers = 2\n");
  EXPECT_EQ(edited("[cluster]"), "[cluster]\nbandwidth = 3e+09\nlatency = 2e-05\n");
  EXPECT_EQ(edited("[cluster]\r\nlatency = 1\r\n"),
            "[cluster]\r\nbandwidth = 3e+09\nlatency = 2e-05\r\n");
}

TEST(Edit, MakesASectionWhereThereIsNone) {
  EXPECT_EQ(edited("[train]\nlr = 0.1"),
            "[train]\nlr = 0.1\n\n[cluster]\nbandwidth = 3e+09\nlatency = 2e-05\n");
  EXPECT_EQ(edited(""), "\n[cluster]\nbandwidth = 3e+09\nlatency = 2e-05\n");
}

TEST(Edit, SaysWhatToWriteWhereItCannot) {
  for (const char* text : {"cluster = {workers = 2}", "cluster.workers = 2",
                           "[[cluster.slowdown]]\nkind = 'random'"}) {
    EXPECT_EQ(edited(text),
              "job.toml: [cluster] cannot be edited automatically; set by hand: "
              "latency = 2e-05, bandwidth = 3e+09");
  }
}

// For lines in any order, with comments, strings and arrays that look like the edited keys, the
// edited job is the same as with --set, and all other lines are still there.
RC_GTEST_PROP(Edit, MeansWhatSetMeans, (std::uint64_t seed)) {
  Random random(seed);
  std::vector<std::string> in_cluster = {"workers = 2", "unit = 1e-3 # latency = 7",
                                         "latency = 1e-3  # of 'é'", "# bandwidth = 1",
                                         "bandwidth = [\n  1e9, # latency\n  2e9,\n]"};
  std::string body;
  std::vector<std::string> kept;
  while (!in_cluster.empty()) {
    const auto i = static_cast<std::ptrdiff_t>(random.below(in_cluster.size()));
    const std::string line = in_cluster[static_cast<std::size_t>(i)];
    in_cluster.erase(in_cluster.begin() + i);
    const bool is_optional = line.starts_with("latency") || line.starts_with("bandwidth");
    if (!is_optional || random.below(2) == 0) {
      body += line + "\n";
      kept.push_back(is_optional ? "" : line);
    }
  }
  const std::string cluster = "[cluster] # [cluster]\n" + body;
  const std::string train = "[train] # é\nlr = 0.5\n";
  const std::string text =
      "name = \"[cluster]\"\n" + (random.below(2) == 0 ? cluster + train : train + cluster);
  const auto result = with_settings(text, "job.toml", "cluster", kLinks);
  RC_ASSERT(result.has_value());
  RC_ASSERT(
      to_toml(job_schema(), good(*result)) ==
      to_toml(job_schema(), good(text, {"cluster.latency=2e-05", "cluster.bandwidth=3e+09"})));
  kept.push_back(train);
  for (const std::string& line : kept) {
    RC_ASSERT(result->find(line) != std::string::npos);
  }
}

}  // namespace
}  // namespace motley
