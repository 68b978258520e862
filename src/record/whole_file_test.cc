#include "record/whole_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "tests/scratch_dir.h"

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

}  // namespace
}  // namespace motley::whole_file_test
