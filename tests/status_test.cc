// `motley status` and `motley drain`, asking a rendezvous in this process.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "motley/version.h"
#include "runtime/rendezvous/addresses.h"
#include "session/run_address.h"
#include "tests/process.h"
#include "tests/rendezvous_tools.h"

namespace motley::rendezvous_test {
namespace {

namespace fs = std::filesystem;

RunStatus status_of_two() {
  RunStatus status{.name = "fashion", .method = "all_reduce", .seconds = 12.5};
  status.samples = 6400;
  status.limit = 25600;
  status.term = 2;
  status.members = {{.id = 0, .host = "a", .pid = 70, .doing = "computes"},
                    {.id = 1, .host = "b\n", .pid = 71, .left = 2.5, .why = "was lost"},
                    {.id = 2, .host = "b", .pid = 72, .doing = "waits for 0"}};
  return status;
}

// A run directory with a job, and the rendezvous of its run.
class StatusTest : public testing::Test {
 protected:
  StatusTest() {
    RendezvousRules more = rules(2);
    more.host.version = kVersion;
    rendezvous_ = open_rendezvous(more);
    rendezvous_->set_status(status_of_two());
    fs::create_directories(run_dir());
    scratch_.write("runs/one/job.toml", "");
  }

  fs::path run_dir() const { return fs::path(scratch_.path()) / "runs" / "one"; }

  // Runs motley in the directory above runs/, while the run answers.
  Finished motley(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), MOTLEY_PROGRAM);
    auto finished =
        std::async(std::launch::async, [&] { return motley::run(arguments, scratch_.path()); });
    EXPECT_TRUE(look_until(*rendezvous_,
                           [&] { return finished.wait_for(1ms) == std::future_status::ready; }));
    return finished.get();
  }

  void begin() { begin(rendezvous_->endpoint()); }
  void begin(const Endpoint& endpoint) {
    const Peer me = peer_of_this_process();
    dir_ = RunDir::reopen(run_dir()).value();
    file_.emplace(&*dir_, RunAddress{endpoint, "t", me.host, me.pid});
  }

  ScratchDir scratch_;
  std::unique_ptr<Rendezvous> rendezvous_;
  std::optional<RunDir> dir_;
  std::optional<AddressFile> file_;
};

TEST_F(StatusTest, ShowsWhoTakesPart) {
  begin();
  const std::string expected =
      "fashion: all_reduce, term 2\n"
      "  6400 of 25600 samples (25 %) in 12.5 s\n"
      "  worker  host      pid  now\n"
      "       0  a          70  computes\n"
      "       1  b?         71  left after 2.5 s: was lost\n"
      "       2  b          72  waits for 0\n";
  const std::vector<std::vector<std::string>> ways = {{}, {"latest"}, {"runs/one"}};
  for (std::vector<std::string> way : ways) {
    way.insert(way.begin(), "status");
    const Finished finished = motley(way);
    EXPECT_EQ(finished.code, 0) << finished.err;
    EXPECT_EQ(finished.out, expected);
  }
}

TEST_F(StatusTest, JsonIsTheStatus) {
  begin();
  const Finished finished = motley({"status", "--json"});
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_EQ(status_in(nlohmann::ordered_json::parse(finished.out)), status_of_two());
}

TEST_F(StatusTest, DrainAsksAWorkerToLeave) {
  begin();
  const Finished asked = motley({"drain", "2"});
  EXPECT_EQ(asked.code, 0) << asked.err;
  EXPECT_EQ(asked.out, "asked worker 2 to leave\n");
  EXPECT_EQ(rendezvous_->take_drain_requests(), std::vector<int>{2});
  const Finished gone = motley({"drain", "1", "runs/one"});
  EXPECT_EQ(gone.code, 2);
  EXPECT_EQ(gone.err, "motley: runs/one: worker 1 left after 2.5 s: was lost\n");
  const Finished unknown = motley({"drain", "7"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_EQ(unknown.err, "motley: runs/one: there is no worker 7; workers of this run: 0, 2\n");
  EXPECT_TRUE(rendezvous_->take_drain_requests().empty());
}

// From another machine, without the run directory.
TEST_F(StatusTest, JoinNeedsTheToken) {
  const std::string where = show(rendezvous_->endpoint());
  const Finished refused = motley({"status", "--join", where});
  EXPECT_EQ(refused.code, 2);
  EXPECT_EQ(refused.out, "");
  EXPECT_EQ(refused.err, "motley: --join " + where +
                             ": refused by rank 0 (pid 70 on a): the request is meant for another "
                             "run: its token (MOTLEY_TOKEN) differs\n");
  setenv("MOTLEY_TOKEN", "t", 1);
  EXPECT_EQ(motley({"status", "--join", where}).code, 0);
  EXPECT_EQ(motley({"drain", "0", "--join", where}).code, 0);
  unsetenv("MOTLEY_TOKEN");
  EXPECT_EQ(rendezvous_->take_drain_requests(), std::vector<int>{0});
}

TEST_F(StatusTest, ARunThatDoesNotAnswerIsNoBadInput) {
  const auto expect = [&](const std::vector<std::string>& arguments, int code,
                          const std::string& message) {
    const Finished finished = motley(arguments);
    EXPECT_EQ(finished.code, code) << finished.err;
    EXPECT_EQ(finished.out, "");
    EXPECT_EQ(finished.err, "motley: " + message + "\n");
  };
  expect({"status"}, 1, "no run in runs is under way");
  expect({"status", "runs/one"}, 1, "runs/one: no run is under way there");
  expect({"status", "runs"}, 2, "runs: contains no job.toml; is it a run directory?");
  expect({"drain", "1", "none"}, 2, "none: no such directory");
  expect({"status", "--join", "nonsense"}, 2,
         "--join " + parse_endpoint("nonsense").error().message);
  expect({"status", "--join", "a:0"}, 2, "--join a:0: expected a port from 1 to 65535");
  const BoundPort nobody;
  begin(nobody.endpoint);
  expect({"status", "runs/one"}, 1,
         "runs/one: the run does not answer: nothing listens at " + show(nobody.endpoint));
}

TEST_F(StatusTest, ARunThatHasNotBegunSaysSo) {
  RendezvousRules more = rules(2);
  more.host.version = kVersion;
  rendezvous_ = open_rendezvous(more);
  begin();
  const Finished status = motley({"status"});
  EXPECT_EQ(status.code, 1);
  EXPECT_EQ(status.err, "motley: the run has not begun: it waits for its workers\n");
  const Finished drain = motley({"drain", "1"});
  EXPECT_EQ(drain.code, 2);
  EXPECT_EQ(drain.err, "motley: runs/one: worker 1 cannot leave yet: the run has not begun\n");
}

TEST_F(StatusTest, MistakesAreNamed) {
  for (const auto& arguments :
       std::vector<std::vector<std::string>>{{"drain"},
                                             {"drain", "x"},
                                             {"drain", "-1"},
                                             {"status", "a", "b"},
                                             {"status", "runs/one", "--join", "a:1"}}) {
    const Finished finished = motley(arguments);
    EXPECT_EQ(finished.code, 2) << testing::PrintToString(arguments);
    EXPECT_EQ(finished.out, "");
    EXPECT_EQ(std::ranges::count(finished.err, '\n'), 1) << finished.err;
  }
}

}  // namespace
}  // namespace motley::rendezvous_test
