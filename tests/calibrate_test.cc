// `motley calibrate` with processes of this machine, as a user runs it.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/process.h"

namespace motley {
namespace {

// calibrate writes into the job what it prints, and keeps the rest of the file.
TEST(Calibrate, WritesIntoTheJob) {
  const ScratchDir scratch;
  const std::string text = "# mine\n[model]\nkind = 'phantom'\nparameters = 1000 # few\n" +
                           std::string("[cluster] # two\nworkers = 2\nlatency = 7 # old\n");
  const std::string job = scratch.write("job.toml", text);
  const Finished printed = run({MOTLEY_PROGRAM, "calibrate", job, "--write"});
  ASSERT_EQ(printed.code, 0) << printed.err;
  ASSERT_TRUE(printed.out.starts_with("[cluster]\n# motley calibrate: 2 workers on one machine\n"))
      << printed.out;
  const auto value = [&](const std::string& key) {
    const auto at = printed.out.find(key + " = ") + key.size() + 3;
    return printed.out.substr(at, printed.out.find('\n', at) - at);
  };
  EXPECT_EQ(read_file(job),
            fmt::format("# mine\n[model]\nkind = 'phantom'\nparameters = 1000 # few\n"
                        "[cluster] # two\nmemory_bandwidth = {}\nbandwidth = {}\nworkers = "
                        "2\nlatency = {} # old\n",
                        value("memory_bandwidth"), value("\nbandwidth"), value("latency")));
}

TEST(Calibrate, RefusesInOneLine) {
  const ScratchDir scratch;
  const std::string one = scratch.write("one.toml", "[cluster]\nworkers = 1\n");
  const std::string each = scratch.write(
      "each.toml", "[cluster]\nworkers = 2\nbandwidth = [1e9, 1e8]\n[[variant]]\nname = 'v'\n");
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--write"}, "motley: --write needs a job file\n"},
      {{one}, "motley: a single worker has no links: set cluster.workers to 2 or more\n"},
      {{scratch.file("none.toml")}, "none.toml"},
      {{each, "--write", "--variant", "v"}, "--write cannot be used with --variant"},
      {{"/dev/null", "--write", "--set", "cluster.workers=2"}, "/dev/null is not a regular file"},
      {{"--set", "cluster.workers=65"}, "--set cluster.workers=64 or fewer"},
      {{"--listen", "nonsense"}, "motley: --listen nonsense"},
      {{"--set", "cluster.wrkers=3"}, "did you mean \"cluster.workers\""},
  };
  for (const auto& [arguments, message] : cases) {
    std::vector<std::string> command{MOTLEY_PROGRAM, "calibrate"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const Finished finished = run(command);
    EXPECT_EQ(finished.code, 2);
    EXPECT_EQ(finished.out, "");
    EXPECT_EQ(std::ranges::count(finished.err, '\n'), 1) << finished.err;
    EXPECT_NE(finished.err.find(message), std::string::npos) << finished.err;
  }
}

TEST(Calibrate, LeavesNothingIfInterrupted) {
  const ScratchDir scratch;
  const std::string text = "[cluster]\nworkers = 2\n";
  const std::string job = scratch.write("job.toml", text);
  Process process({MOTLEY_PROGRAM, "calibrate", job, "--write", "--set", "model.kind=phantom",
                   "--set", "model.parameters=1000"});
  std::vector<pid_t> workers;
  ASSERT_TRUE(eventually([&] {
    workers = children_of(process.pid());
    return workers.size() == 2;
  }));
  process.signal(SIGINT);
  const Finished finished = process.wait();
  EXPECT_EQ(finished.code, 128 + SIGINT) << finished.err;
  EXPECT_EQ(finished.out, "");
  for (const pid_t worker : workers) {
    EXPECT_FALSE(is_running(worker));
  }
  EXPECT_EQ(read_file(job), text);
}

// A server of the job is measured too, though it shares the machine.
TEST(Calibrate, NeedsNoModel) {
  const ScratchDir scratch;
  const std::string job = scratch.write("job.toml",
                                        "[strategy]\nsync = 'ps_bsp'\n[cluster]\nworkers = "
                                        "3\n[data]\nkind = 'idx'\npath = '/nowhere'\n");
  const Finished finished = run({MOTLEY_PROGRAM, "calibrate", job, "--json"});
  ASSERT_EQ(finished.code, 0) << finished.err;
  const auto links = nlohmann::json::parse(finished.out);
  EXPECT_GT(links.at("latency").get<double>(), 0);
  EXPECT_GT(links.at("bandwidth").get<double>(), 1e6);
  EXPECT_EQ(links.at("server_bandwidth"), links.at("bandwidth"));
}

}  // namespace
}  // namespace motley
