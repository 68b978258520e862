#include "record/whole_file.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <functional>
#include <iterator>
#include <vector>

#include "tests/scratch_dir.h"

namespace motley::whole_file_test {

// Called in place of the kernel's fsync() with the name of the file; returns 0 or errno.
std::function<int(const std::filesystem::path&)> g_on_fsync;

}  // namespace motley::whole_file_test

extern "C" int fsync(int descriptor) {
  if (!motley::whole_file_test::g_on_fsync) {
    return static_cast<int>(syscall(SYS_fsync, descriptor));
  }
  const auto name = "/proc/self/fd/" + std::to_string(descriptor);
  errno = motley::whole_file_test::g_on_fsync(std::filesystem::read_symlink(name));
  return errno == 0 ? 0 : -1;
}

namespace motley::whole_file_test {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(WholeFile, IsReplacedAndLeavesNothingBeside) {
  ScratchDir scratch;
  const fs::path file = scratch.write("job.toml", "old");
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  ASSERT_TRUE(replace_file(file, "new"));
  EXPECT_EQ(contents(file), "new");
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_FALSE(fs::exists(part_of(file)));
  const fs::path another = scratch.file("another");
  ASSERT_TRUE(replace_file(another, "first"));
  EXPECT_EQ(contents(another), "first");
}

TEST(WholeFile, ALinkStaysOne) {
  ScratchDir scratch;
  const fs::path file = scratch.write("job.toml", "old");
  const fs::path link = scratch.file("link");
  fs::create_symlink(file, link);
  ASSERT_TRUE(replace_file(link, "new"));
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(contents(file), "new");
}

TEST(WholeFile, FailureKeepsTheOldFile) {
  ScratchDir scratch;
  const fs::path directory = scratch.file("directory");
  fs::create_directories(directory / "inside");
  const Status status = replace_file(directory, "new");
  ASSERT_FALSE(status);
  EXPECT_TRUE(status.error().message.starts_with(directory.string() + ": cannot be written: "));
  EXPECT_TRUE(fs::exists(directory / "inside"));
  EXPECT_FALSE(fs::exists(part_of(directory)));
}

// What is synced while `body` runs; the n-th time, counted from 0, fails.
std::vector<fs::path> synced(const std::function<void()>& body, std::size_t failing = 99) {
  std::vector<fs::path> paths;
  g_on_fsync = [&](const fs::path& path) {
    paths.push_back(path);
    return paths.size() - 1 == failing ? EIO : 0;
  };
  body();
  g_on_fsync = nullptr;
  return paths;
}

TEST(WholeFile, IsSyncedBeforeItIsRenamedAndTheDirectoryAfterwards) {
  ScratchDir scratch;
  const fs::path file = scratch.write("job.toml", "old");
  std::vector<std::string> seen;
  g_on_fsync = [&](const fs::path& path) {
    seen.push_back(path.filename().string() + " while there is the " + contents(file));
    return 0;
  };
  const Status status = replace_file(file, "new");
  g_on_fsync = nullptr;
  ASSERT_TRUE(status);
  EXPECT_EQ(seen, (std::vector<std::string>{
                      ".job.toml.tmp while there is the old",
                      fs::path(scratch.path()).filename().string() + " while there is the new"}));
}

TEST(WholeFile, ThatNeedNotBeDurableIsNotSynced) {
  ScratchDir scratch;
  EXPECT_TRUE(synced([&] {
                ASSERT_TRUE(replace_file(scratch.file("file"), "new", Durable::kNo));
              }).empty());
}

TEST(WholeFile, AFileThatCannotBeSyncedDoesNotReplaceTheOldOne) {
  ScratchDir scratch;
  const fs::path file = scratch.write("job.toml", "old");
  synced([&] { EXPECT_FALSE(replace_file(file, "new")); }, 0);
  EXPECT_EQ(contents(file), "old");
  EXPECT_FALSE(fs::exists(part_of(file)));
  synced([&] { EXPECT_FALSE(replace_file(file, "new")); }, 1);
  EXPECT_EQ(contents(file), "new");  // though nobody knows for how long
}

TEST(PrivateFile, OnlyThisUserCanReadIt) {
  ScratchDir scratch;
  const fs::path file = scratch.write("secret", "old");
  const fs::path elsewhere = scratch.write("elsewhere", "untouched");
  fs::permissions(file, fs::perms::all);
  scratch.write(part_of(file).filename(), "left over, and readable");
  ASSERT_TRUE(replace_private_file(file, "new"));
  EXPECT_EQ(contents(file), "new");
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_FALSE(fs::exists(part_of(file)));
  fs::remove(file);
  fs::create_symlink(elsewhere, file);
  ASSERT_TRUE(replace_private_file(file, "new"));
  EXPECT_EQ(contents(elsewhere), "untouched");
  EXPECT_FALSE(fs::is_symlink(file));
}

TEST(PrivateFile, FailureKeepsTheOldFile) {
  ScratchDir scratch;
  const fs::path directory = scratch.file("directory");
  fs::create_directories(directory / "inside");
  const Status status = replace_private_file(directory, "new");
  ASSERT_FALSE(status);
  EXPECT_TRUE(status.error().message.starts_with(directory.string() + ": cannot be written: "));
  EXPECT_FALSE(fs::exists(part_of(directory)));
  EXPECT_FALSE(replace_private_file(scratch.file("none/file"), "new"));
}

}  // namespace
}  // namespace motley::whole_file_test
