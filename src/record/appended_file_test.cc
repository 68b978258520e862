#include "record/appended_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

#include "tests/scratch_dir.h"
#include "tests/short_disk.h"

namespace motley::appended_file_test {
namespace {

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The lines without the spaces at their ends.
std::vector<std::string> lines_of(const std::string& path) {
  std::istringstream text(contents(path));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) {
    lines.push_back(line.substr(0, line.find_last_not_of(' ') + 1));
  }
  return lines;
}

TEST(AppendedFile, GrowsByLines) {
  ScratchDir scratch;
  const std::string path = scratch.write("file", "of an earlier run\n");
  auto file = AppendedFile::create(path);
  ASSERT_TRUE(file);
  EXPECT_EQ(contents(path), "");
  ASSERT_TRUE(file->append_line("one"));
  EXPECT_EQ(contents(path), "one\n");
  ASSERT_TRUE(file->append_line("two"));
  EXPECT_EQ(contents(path), "one\ntwo\n");
}

TEST(AppendedFile, ContinuesAfterSomeLinesAndForgetsTheRest) {
  ScratchDir scratch;
  for (const auto& [lines, expected] : {std::pair{0, "x\n"}, {1, "one\nx\n"}, {2, "one\n\nx\n"}}) {
    const std::string path = scratch.write("file", "one\n\ntorn");
    auto file = AppendedFile::continue_after(path, lines);
    ASSERT_TRUE(file) << file.error().message;
    ASSERT_TRUE(file->append_line("x"));
    EXPECT_EQ(contents(path), expected);
  }
}

TEST(AppendedFile, CannotContinueAfterLinesThatAreNotThere) {
  ScratchDir scratch;
  const std::string path = scratch.write("file", "one\n\ntorn");
  const auto file = AppendedFile::continue_after(path, 3);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().message, path + ": has fewer than 3 lines");
  EXPECT_EQ(contents(path), "one\n\ntorn");
  const auto nothing = AppendedFile::continue_after(scratch.file("nothing"), 0);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().message, scratch.file("nothing") + ": cannot be read");
}

// Readers see a write page by page.
TEST(AppendedFile, NoLineCrossesTheBoundaryOfAPage) {
  ScratchDir scratch;
  const std::string path = scratch.file("file");
  auto file = AppendedFile::create(path);
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < 3000; ++i) {
    lines.emplace_back(1 + i * 7919 % (AppendedFile::kLongestLine - 1), 'x');
    ASSERT_TRUE(file->append_line(lines.back()));
    if (i == 1500) {
      file = AppendedFile::continue_after(path, 1501);
    }
  }
  EXPECT_EQ(lines_of(path), lines);
  const std::string text = contents(path);
  for (std::size_t boundary = 4096; boundary < text.size(); boundary += 4096) {
    EXPECT_EQ(text[boundary - 1], '\n') << boundary;
  }
}

TEST(AppendedFile, ALongLineIsWrittenAllTheSame) {
  ScratchDir scratch;
  const std::string path = scratch.file("file");
  auto file = AppendedFile::create(path);
  const std::vector<std::string> lines = {"short", std::string(10'000, 'x'), "short"};
  for (const std::string& line : lines) {
    ASSERT_TRUE(file->append_line(line));
  }
  EXPECT_EQ(lines_of(path), lines);
}

TEST(AppendedFile, LinesThatDoNotFitAreWrittenLater) {
  ScratchDir scratch;
  const std::string path = scratch.file("file");
  auto file = AppendedFile::create(path);
  ASSERT_TRUE(file->append_line("one"));
  {
    const ShortDisk disk(6);
    const Status status = file->append_line("two");
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().message, path + ": cannot be written: File too large");
    EXPECT_EQ(contents(path), "one\n");
    EXPECT_FALSE(file->append_line("three"));
  }
  ASSERT_TRUE(file->append_line("four"));
  EXPECT_EQ(contents(path), "one\ntwo\nthree\nfour\n");
}

TEST(AppendedFile, AFullDiskIsOneLine) {
  auto file = AppendedFile::create("/dev/full");
  ASSERT_TRUE(file);
  const Status status = file->append_line("one");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "/dev/full: cannot be written: No space left on device");
}

TEST(AppendedFile, ADirectoryIsNoFile) {
  ScratchDir scratch;
  const auto file = AppendedFile::create(scratch.path());
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().message, scratch.path() + ": cannot be written: Is a directory");
}

}  // namespace
}  // namespace motley::appended_file_test
