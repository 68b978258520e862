// Tests of errors. The contents are checked in tests/readers, by readers that share no code with
// the writer.
#include "record/event_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "tests/scratch_dir.h"
#include "tests/short_disk.h"

namespace motley {
namespace {

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(EventFile, IsNamedSoThatItIsFound) {
  EXPECT_EQ(event_file_name(1'700'000'000), "events.out.tfevents.1700000000.motley");
}

TEST(EventFile, BeginsAnew) {
  ScratchDir scratch;
  const std::string path = scratch.write("file", std::string(1000, 'x'));
  auto file = EventFile::create(path, 1.5);
  ASSERT_TRUE(file) << file.error().message;
  // Length and checksum, wall time, version, checksum.
  EXPECT_EQ(contents(path).size(), 12u + 9 + 15 + 4);
}

TEST(EventFile, AFileThatCannotBeCreatedIsOneLine) {
  ScratchDir scratch;
  const std::string path = scratch.file("nowhere/file");
  const auto file = EventFile::create(path);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().message, path + ": cannot be written: No such file or directory");
}

TEST(EventFile, AFullDiskIsOneLine) {
  const auto file = EventFile::create("/dev/full");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().message, "/dev/full: cannot be written: No space left on device");
}

TEST(EventFile, ARecordThatDoesNotFitIsRemovedAndCanBeRetried) {
  ScratchDir scratch;
  const std::string path = scratch.file("short");
  const std::string whole = scratch.file("whole");
  auto file = EventFile::create(path, 0);
  auto other = EventFile::create(whole, 0);
  ASSERT_TRUE(file && other);
  ASSERT_TRUE(file->add(1, 1, {{"a", 1}}));
  ASSERT_TRUE(other->add(1, 1, {{"a", 1}}));
  const std::string before = contents(path);
  {
    const ShortDisk disk(before.size() + 10);
    const Status status = file->add(2, 2, {{"a", 2}, {"b", 3}});
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().message, path + ": cannot be written: File too large");
  }
  EXPECT_EQ(contents(path), before);
  ASSERT_TRUE(file->add(2, 2, {{"a", 2}, {"b", 3}}));
  ASSERT_TRUE(other->add(2, 2, {{"a", 2}, {"b", 3}}));
  EXPECT_EQ(contents(path), contents(whole));  // "b" is described there too
}

// An evaluation of step 2 comes after the figures of step 3.
TEST(EventFile, GoesOnAfterAStep) {
  ScratchDir scratch;
  const std::string path = scratch.file("cut");
  const std::string whole = scratch.file("whole");
  auto cut = EventFile::create(path, 0);
  auto other = EventFile::create(whole, 0);
  ASSERT_TRUE(cut && other);
  for (const std::int64_t step : {1, 2, 300, 2, 301}) {
    ASSERT_TRUE(cut->add(1, step, {{"a", 1}}));
    ASSERT_TRUE(step > 2 || other->add(1, step, {{"a", 1}}));
  }
  std::ofstream(path, std::ios::app) << "half a record";
  ASSERT_TRUE(EventFile::continue_after(path, 2));
  EXPECT_EQ(contents(path), contents(whole));
  auto again = EventFile::continue_after(path, 2);
  ASSERT_TRUE(again);
  ASSERT_TRUE(again->add(1, 300, {{"a", 1}}));
  EXPECT_TRUE(contents(path).starts_with(contents(whole)));
  EXPECT_FALSE(EventFile::continue_after(scratch.write("foreign", "text"), 2));
  EXPECT_FALSE(EventFile::continue_after(scratch.file("nowhere"), 2));
}

TEST(EventFile, MovesWithItsFile) {
  ScratchDir scratch;
  auto first = EventFile::create(scratch.file("first"), 0);
  auto second = EventFile::create(scratch.file("second"), 0);
  ASSERT_TRUE(first && second);
  const std::size_t size = contents(scratch.file("second")).size();
  *first = std::move(*second);
  ASSERT_TRUE(first->add(1, 1, {{"a", 1}}));
  EXPECT_EQ(contents(scratch.file("first")).size(), size);
  EXPECT_GT(contents(scratch.file("second")).size(), size);
}

}  // namespace
}  // namespace motley
