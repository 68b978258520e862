// What methods with parameter servers gain on different machines and links, simulated: speeds span
// a factor of 4, links a factor of 10.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "tests/process.h"

namespace motley {
namespace {

using Json = nlohmann::json;

constexpr const char* kJob = MOTLEY_SOURCE_DIR "/scenarios/published/ashl.toml";

Process start(const ScratchDir& scratch, const std::string& sync, int seed) {
  return Process({MOTLEY_PROGRAM, "simulate", kJob, "--variant", sync, "--json", "--quiet", "--set",
                  fmt::format("seed={}", seed), "--out",
                  scratch.file(fmt::format("{}-{}", sync, seed))});
}

// Seconds until the job's target.
double time_of(Process& process) {
  const Finished finished = process.wait();
  EXPECT_EQ(finished.code, 0) << finished.err;
  const Json summary = Json::parse(finished.out);
  EXPECT_FALSE(summary["time_to_target"].is_null());
  return summary["time_to_target"].is_null() ? summary["seconds"].get<double>()
                                             : summary["time_to_target"].get<double>();
}

// Reaching a target is partly luck, so two seeds are added. Processors round differently; the bound
// leaves room for that. scripts/reproduce uses more seeds and the slower methods.
TEST(Unlike, AshlReachesTheTargetFirst) {
  ScratchDir scratch;
  std::map<std::string, double> seconds;
  for (const char* sync : {"adsp", "ashl"}) {
    Process one = start(scratch, sync, 2);
    Process other = start(scratch, sync, 3);
    seconds[sync] = time_of(one) + time_of(other);
  }
  EXPECT_LE(seconds["ashl"], 0.65 * seconds["adsp"]);
  Process asp = start(scratch, "ps_asp", 2);
  EXPECT_LT(seconds["ashl"] / 2, time_of(asp));
}

}  // namespace
}  // namespace motley
