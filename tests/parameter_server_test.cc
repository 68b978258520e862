// What methods with parameter servers are worth on machines and links that are not alike, on the
// virtual clock: speeds span 4x, links 10x.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/process.h"

namespace motley {
namespace {

using Json = nlohmann::json;

Process start(const ScratchDir& scratch, const std::string& sync) {
  return Process({MOTLEY_PROGRAM, "simulate", MOTLEY_SOURCE_DIR "/examples/ashl.toml", "--json",
                  "--quiet", "--set", "strategy.sync=" + sync, "--out", scratch.file(sync)});
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

TEST(Unlike, AshlReachesTheTargetFirst) {
  ScratchDir scratch;
  Process adsp = start(scratch, "adsp");
  Process ashl = start(scratch, "ashl");
  const double best = time_of(ashl);
  Process asp = start(scratch, "ps_asp");
  EXPECT_LT(best, time_of(asp));
  Process ssp = start(scratch, "ps_ssp");
  EXPECT_LE(best, 0.65 * time_of(adsp));
  Process bsp = start(scratch, "ps_bsp");
  EXPECT_LT(best, time_of(ssp));
  EXPECT_LT(best, time_of(bsp));
}

}  // namespace
}  // namespace motley
