#include "session/run_address.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include "tests/scratch_dir.h"

namespace motley::run_address_test {
namespace {

namespace fs = std::filesystem;

RunAddress sample_address(std::uint16_t port) {
  const Peer me = peer_of_this_process();
  return {{"127.0.0.1", port}, "a \"token\"", me.host, me.pid};
}

RunDir directory_in(const ScratchDir& scratch, const std::string& name) {
  return RunDir::create(scratch.file(name), "job").value();
}

// A process that has ended.
pid_t ended_process() {
  const pid_t child = fork();
  if (child == 0) {
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  return child;
}

TEST(AddressFile, IsThereWhileTheRunGoesOn) {
  ScratchDir scratch;
  const RunDir dir = directory_in(scratch, "run");
  const fs::path path = dir.path() / kAddressFile;
  {
    const AddressFile file(&dir, sample_address(4711));
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
    const auto run = find_run(dir.path());
    ASSERT_TRUE(run);
    EXPECT_EQ(run->directory, dir.path());
    EXPECT_EQ(run->address.rendezvous.host, "127.0.0.1");
    EXPECT_EQ(run->address.rendezvous.port, 4711);
    EXPECT_EQ(run->address.token, "a \"token\"");
    EXPECT_EQ(run->address.pid, getpid());
  }
  EXPECT_FALSE(fs::exists(path));
  const AddressFile none(nullptr, sample_address(4711));  // a run without a directory
}

TEST(AddressFile, ThatIsLeftOverIsRemovedByTheNextRun) {
  ScratchDir scratch;
  const std::string left = fmt::format("run/{}", kAddressFile);
  fs::create_directories(scratch.file("run"));
  scratch.write(left, "{}");
  directory_in(scratch, "run").release();
  EXPECT_FALSE(fs::exists(scratch.file(left)));
  scratch.write(left, "{}");
  EXPECT_TRUE(RunDir::reopen(scratch.file("run")));
  EXPECT_FALSE(fs::exists(scratch.file(left)));
}

TEST(FindRun, SaysWhatIsMissing) {
  ScratchDir scratch;
  const auto none = [&](const std::string& name) {
    const auto run = find_run(scratch.file(name));
    return run ? NoRun{"there is one"} : run.error();
  };
  EXPECT_EQ(none("run").why, scratch.file("run") + ": no such directory");
  EXPECT_TRUE(none("run").is_bad_input);
  fs::create_directories(scratch.file("run"));
  EXPECT_EQ(none("run").why,
            scratch.file("run") + ": contains no job.toml; is it a run directory?");
  EXPECT_TRUE(none("run").is_bad_input);
  scratch.write("run/job.toml", "");
  EXPECT_EQ(none("run").why, scratch.file("run") + ": no run is under way there");
  EXPECT_FALSE(none("run").is_bad_input);
  for (const char* text : {"", "[]", "{\"address\": \"nonsense\", \"token\": \"\"}",
                           "{\"address\": 3, \"token\": \"\"}", "{\"address\": \"a:1\"}"}) {
    scratch.write("run/rendezvous.json", text);
    EXPECT_EQ(none("run").why,
              scratch.file("run") + "/rendezvous.json: is not the address of a run");
    EXPECT_TRUE(none("run").is_bad_input);
  }
}

TEST(FindRun, TheLatestIsTheNewestWhoseProcessIsThere) {
  ScratchDir scratch;
  const auto latest = [&] { return find_run("latest", scratch.path()); };
  EXPECT_EQ(latest().error().why, fmt::format("no run in {} is under way", scratch.path()));
  EXPECT_FALSE(latest().error().is_bad_input);
  const RunDir old_dir = directory_in(scratch, "b-old");
  const RunDir new_dir = directory_in(scratch, "a-new");
  const RunDir dead_dir = directory_in(scratch, "c-dead");
  const auto set_age = [](const RunDir& dir, int minutes) {
    fs::last_write_time(dir.path() / kAddressFile,
                        fs::file_time_type::clock::now() - std::chrono::minutes(minutes));
  };
  const AddressFile old_file(&old_dir, sample_address(1));
  RunAddress dead = sample_address(3);
  dead.pid = ended_process();
  const AddressFile dead_file(&dead_dir, dead);
  set_age(old_dir, 20);
  set_age(dead_dir, 0);
  EXPECT_EQ(latest()->address.rendezvous.port, 1);
  const AddressFile new_file(&new_dir, sample_address(2));
  set_age(new_dir, 10);
  EXPECT_EQ(latest()->address.rendezvous.port, 2);
}

}  // namespace
}  // namespace motley::run_address_test
