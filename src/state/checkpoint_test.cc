#include "state/checkpoint.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <utility>

#include "base/random.h"
#include "state/memory_files.h"
#include "state/sample_checkpoint.h"
#include "state/sha256.h"
#include "tests/scratch_dir.h"

namespace motley {
namespace {

namespace fs = std::filesystem;

const fs::path kPlace = "/run/500";
constexpr const char* kAllNames[] = {"tensors.safetensors", "state.json", "own.bin"};

MemoryFiles files_with(const Checkpoint& checkpoint) {
  MemoryFiles files;
  EXPECT_TRUE(write_checkpoint(files, kPlace, checkpoint));
  return files;
}

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The message with which a damaged checkpoint is refused. It must be one line and name the file.
std::string refused(MemoryFiles& files, const std::string& name) {
  const auto read = read_checkpoint(files, kPlace);
  if (read) {
    return "";
  }
  const std::string& message = read.error().message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  EXPECT_TRUE(message.starts_with((kPlace / name).string() + ": ")) << message;
  return message;
}

TEST(Checkpoint, IsReadAsItWasWritten) {
  for (const Checkpoint& checkpoint : {sample_checkpoint(500), Checkpoint{500, {}, {}, {}}}) {
    MemoryFiles files = files_with(checkpoint);
    const auto read = read_checkpoint(files, kPlace);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, checkpoint);
    EXPECT_EQ(files.list("/run")->size(), 1U);
  }
}

TEST(Checkpoint, IsReplacedOnARealDisk) {
  const ScratchDir dir;
  for (const int attempt : {0, 1, 2}) {
    const Checkpoint checkpoint = sample_checkpoint(500, attempt);
    const Status status = write_checkpoint(real_files(), dir.file("500"), checkpoint);
    ASSERT_TRUE(status) << status.error().message;
    const auto read = read_checkpoint(real_files(), dir.file("500"));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, checkpoint);
    EXPECT_EQ(real_files().list(dir.path())->size(), 1U);
  }
}

TEST(Checkpoint, WhatIsMissingOnARealDiskIsNamed) {
  const ScratchDir dir;
  const auto read = read_checkpoint(real_files(), dir.file("500"));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message,
            dir.file("500/state.json") + ": cannot be read: No such file or directory");
  fs::create_directories(dir.file("500/state.json"));
  EXPECT_EQ(read_checkpoint(real_files(), dir.file("500")).error().message,
            dir.file("500/state.json") + ": cannot be read: Is a directory");
  dir.write("file", "");
  EXPECT_FALSE(write_checkpoint(real_files(), dir.file("file/500"), sample_checkpoint(500)));
  EXPECT_FALSE(write_checkpoint(real_files(), dir.file("file"), sample_checkpoint(500)));
  EXPECT_EQ(real_files().list(dir.path())->size(), 2U);
}

TEST(Checkpoint, OwnFilesHaveNamesThatStayInside) {
  for (const char* name : {"model.pt", "a b", "état"}) {
    EXPECT_TRUE(is_own_file_name(name)) << name;
  }
  for (const char* name : {"", ".", "..", ".hidden", "a/b", "/etc/passwd", "a\\b", "a\nb",
                           "state.json", "tensors.safetensors"}) {
    EXPECT_FALSE(is_own_file_name(name)) << name;
    MemoryFiles files;
    Checkpoint checkpoint = sample_checkpoint(500);
    checkpoint.files[name] = {};
    EXPECT_FALSE(write_checkpoint(files, kPlace, checkpoint));
    EXPECT_TRUE(files.list("/run")->empty());
  }
  EXPECT_FALSE(is_own_file_name(std::string(201, 'a')));
}

TEST(Checkpoint, NumbersThatAreNotFiniteAreRefused) {
  MemoryFiles files;
  Checkpoint checkpoint = sample_checkpoint(500);
  checkpoint.state.values["deep"] = {1, {{"a", std::numeric_limits<double>::infinity()}}};
  EXPECT_FALSE(write_checkpoint(files, kPlace, checkpoint));
  EXPECT_TRUE(files.list("/run")->empty());
}

TEST(Checkpoint, TextThatIsNotUtf8IsRefused) {
  MemoryFiles files;
  Checkpoint checkpoint = sample_checkpoint(500);
  checkpoint.state.values["text"] = "\xff";
  const Status status = write_checkpoint(files, kPlace, checkpoint);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message,
            "/run/.500.tmp/state.json: a name or a text of the state is not UTF-8");
}

TEST(Checkpoint, EveryFlippedBitIsFound) {
  MemoryFiles files = files_with(sample_checkpoint(500));
  int flips = 0;
  for (const char* name : kAllNames) {
    std::vector<std::byte>& bytes = files.contents(kPlace / name);
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      bytes[bit / 8] ^= std::byte{1} << (bit % 8);
      ASSERT_NE(refused(files, name), "") << name << " bit " << bit;
      bytes[bit / 8] ^= std::byte{1} << (bit % 8);
      ++flips;
    }
  }
  EXPECT_GT(flips, 5'000);
  EXPECT_TRUE(read_checkpoint(files, kPlace));
}

TEST(Checkpoint, EveryOtherLengthIsFound) {
  MemoryFiles files = files_with(sample_checkpoint(500));
  for (const char* name : kAllNames) {
    const std::vector<std::byte> whole = files.contents(kPlace / name);
    for (std::size_t size = 0; size < whole.size() + 20; ++size) {
      files.contents(kPlace / name) = whole;
      files.contents(kPlace / name).resize(size);
      ASSERT_EQ(refused(files, name).empty(), size == whole.size()) << name << " " << size;
    }
    files.contents(kPlace / name) = whole;
  }
  ASSERT_FALSE(files.remove(kPlace / "own.bin"));
  EXPECT_EQ(refused(files, "own.bin"),
            "/run/500/own.bin: cannot be read: No such file or directory");
}

TEST(Checkpoint, AFileOfAnotherCheckpointIsFound) {
  MemoryFiles others = files_with(sample_checkpoint(500, 1));
  for (const char* name : {"tensors.safetensors", "own.bin"}) {
    MemoryFiles files = files_with(sample_checkpoint(500));
    files.put(kPlace / name, others.contents(kPlace / name));
    EXPECT_EQ(refused(files, name),
              (kPlace / name).string() + ": is damaged: its checksum is wrong");
  }
}

// A damaged copy: parts of another file, of the same one, or random bytes, anywhere in it.
void splice(std::vector<std::byte>& bytes, const std::vector<std::byte>& other, Random& random) {
  const std::size_t at = random.below(bytes.size());
  const std::size_t from = random.below(other.size());
  const std::size_t size = 1 + random.below(std::min(bytes.size() - at, other.size() - from));
  for (std::size_t i = 0; i < size; ++i) {
    bytes[at + i] = random.below(20) == 0 ? static_cast<std::byte>(random.next()) : other[from + i];
  }
}

TEST(Checkpoint, SplicesAreFound) {
  MemoryFiles files = files_with(sample_checkpoint(500));
  MemoryFiles others = files_with(sample_checkpoint(600, 1));
  Random random(1);
  int changed = 0;
  for (int i = 0; i < 3'000; ++i) {
    const char* name = kAllNames[random.below(3)];
    const char* other = kAllNames[random.below(3)];
    std::vector<std::byte>& bytes = files.contents(kPlace / name);
    const std::vector<std::byte> whole = bytes;
    splice(bytes, random.below(2) == 0 ? whole : others.contents(kPlace / other), random);
    ASSERT_EQ(refused(files, name).empty(), bytes == whole);
    changed += bytes == whole ? 0 : 1;
    bytes = whole;
  }
  EXPECT_GT(changed, 2'500);
}

// state.json with other contents and the right checksum.
std::string resealed(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos);
  text.replace(at, from.size(), to);
  text.resize(text.find(",\n\"sha256\": \""));
  const std::string digits = sha256(std::as_bytes(std::span(text)));
  return text + ",\n\"sha256\": \"" + digits + "\"\n}\n";
}

TEST(Checkpoint, OtherVersionsAndForeignFilesAreRefused) {
  MemoryFiles files = files_with(sample_checkpoint(500));
  const std::string whole = text_of(files.contents(kPlace / "state.json"));
  const auto with = [&](const std::string& text) {
    files.contents(kPlace / "state.json") = bytes_of_text(text);
    return refused(files, "state.json").substr(std::string("/run/500/state.json: ").size());
  };
  EXPECT_EQ(with(resealed(whole, "\"version\": 1", "\"version\": 2")),
            "was written by a newer version of motley: its format is 2, this one reads 1");
  std::string unsealed = whole;
  unsealed.replace(whole.find("\"version\": 1"), 12, "\"version\": 7");
  EXPECT_EQ(with(unsealed),
            "was written by a newer version of motley, or is damaged: its format is 7, "
            "this one reads 1");
  EXPECT_EQ(with(resealed(whole, "\"version\": 1", "\"version\": 0")),
            "has the format 0, which never was");
  EXPECT_EQ(with(resealed(whole, "motley checkpoint", "other checkpoint")),
            "is not of a motley checkpoint");
  EXPECT_EQ(with("{\"step\": 3}"), "is not of a motley checkpoint");
  EXPECT_EQ(with(whole.substr(0, 50)), "is not JSON: it is damaged");
}

TEST(Checkpoint, ASealedManifestIsCheckedToo) {
  MemoryFiles files = files_with(sample_checkpoint(500));
  const std::string whole = text_of(files.contents(kPlace / "state.json"));
  for (const auto& [from, to] :
       std::map<std::string, std::string>{{"\"step\": 500", "\"step\": -5"},
                                          {"\"step\": 500", "\"step\": 1e3"},
                                          {"\"step\": 500,", ""},
                                          {"\"accuracy\": 0", "\"accuracy\": \"x\", \"b\": 0"},
                                          {"own.bin", "../own.bin"},
                                          {"own.bin", "state.json"},
                                          {"tensors.safetensors", "others.safetensors"},
                                          {"\"bytes\":", "\"bytes\": -"},
                                          {"\"values\": {", "\"values\": 7, \"b\": {"}}) {
    files.contents(kPlace / "state.json") = bytes_of_text(resealed(whole, from, to));
    EXPECT_EQ(refused(files, "state.json"),
              "/run/500/state.json: lacks files, step, accuracy or values of a checkpoint")
        << to;
  }
  files.contents(kPlace / "state.json") =
      bytes_of_text(resealed(whole, "\"step\": 500", "\"step\": 1, \"step\": 2"));
  EXPECT_EQ(refused(files, "state.json"),
            "/run/500/state.json: has two entries \"step\": it is damaged");
}

}  // namespace
}  // namespace motley
