#include "state/safetensors.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>

#include "base/random.h"
#include "state/sample_checkpoint.h"

namespace motley {
namespace {

std::vector<std::byte> file_of(const TensorMap& tensors) {
  std::vector<std::byte> file;
  const Status status = write_safetensors(tensors, [&](std::span<const std::byte> part) -> Status {
    file.insert(file.end(), part.begin(), part.end());
    return {};
  });
  EXPECT_TRUE(status);
  return file;
}

// A file with any header.
std::vector<std::byte> file_with(const std::string& header, std::size_t data_size) {
  const std::uint64_t length = header.size();
  std::string text(sizeof length, '\0');
  std::memcpy(text.data(), &length, sizeof length);
  return bytes_of_text(text + header + std::string(data_size, 'x'));
}

std::string refusal(const std::vector<std::byte>& file) {
  const auto tensors = read_safetensors(file);
  return tensors ? "" : tensors.error().message;
}

TensorMap sample_tensors() { return sample_checkpoint(7).state.tensors; }

TEST(Safetensors, ReadsWhatItWrites) {
  TensorMap tensors = sample_tensors();
  tensors["wide"] = tensor_of<double>(ElementType::kFloat64, {1e300});
  tensors["none"] = tensor_of<float>(ElementType::kFloat32, {});
  tensors["scalar"] = tensor_of<float>(ElementType::kFloat32, {4});
  tensors["scalar"].shape = {};
  tensors["naïve \"name\"\n"] = tensor_of<std::uint8_t>(ElementType::kUint8, {});
  const auto read = read_safetensors(file_of(tensors));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, tensors);
  EXPECT_EQ(read_safetensors(file_of({}))->size(), 0U);
}

TEST(Safetensors, DataIsAligned) {
  for (std::size_t length = 0; length < 20; ++length) {
    TensorMap tensors = sample_tensors();
    tensors[std::string(length + 1, 'n')] = tensor_of<double>(ElementType::kFloat64, {1});
    const auto file = file_of(tensors);
    std::uint64_t header = 0;
    std::memcpy(&header, file.data(), sizeof header);
    EXPECT_EQ(header % 8, 0U);
    const std::string text(reinterpret_cast<const char*>(file.data()) + 8, header);
    const auto entries = nlohmann::json::parse(text);
    for (const auto& [name, entry] : entries.items()) {
      EXPECT_EQ(entry["data_offsets"][0].get<std::size_t>() % size_of(tensors[name].type), 0U);
    }
  }
}

TEST(Safetensors, MetadataOfOthersIsIgnored) {
  const auto tensors = read_safetensors(file_with(
      R"({"__metadata__":{"a":"b"},"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}} )", 2));
  ASSERT_TRUE(tensors);
  EXPECT_EQ(tensors->size(), 1U);
}

TEST(Safetensors, NamesThatCannotBeStoredAreRefused) {
  const auto sink = [](std::span<const std::byte>) { return Status(); };
  EXPECT_FALSE(write_safetensors({{"__metadata__", sample_tensors()["raw"]}}, sink));
  EXPECT_FALSE(write_safetensors({{"\xff", sample_tensors()["raw"]}}, sink));
}

TEST(Safetensors, WhatIsWrongIsSaid) {
  const auto with = [](const std::string& entries, std::size_t data_size) {
    return refusal(file_with("{" + entries + "}", data_size));
  };
  const std::string four = R"("x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  EXPECT_EQ(with(four, 4), "");
  EXPECT_EQ(with(four, 5), "has 5 bytes of data, but its tensors have 4");
  EXPECT_EQ(with(four, 3), "has 3 bytes of data, but its tensors have 4");
  EXPECT_EQ(with(four + "," + four, 4), "the header has two entries \"x\"");
  EXPECT_EQ(with(R"("x":{"dtype":"F32","shape":[1],"shape":[1],"data_offsets":[0,4]})", 4),
            "the header has two entries \"shape\"");
  EXPECT_EQ(with(R"("x":{"dtype":"C99","shape":[1],"data_offsets":[0,4]})", 4),
            "the tensor \"x\" has a dtype that motley does not know: \"C99\"");
  EXPECT_EQ(with(R"("x":{"dtype":"F32","shape":[2],"data_offsets":[0,4]})", 4),
            "the tensor \"x\" has a shape that does not fit its 4 bytes");
  EXPECT_EQ(with(four + R"(,"y":{"dtype":"U8","shape":[2],"data_offsets":[3,5]})", 5),
            "the tensor \"y\" begins at byte 3 of the data, not at 4");
  EXPECT_EQ(with(four + R"(,"y":{"dtype":"U8","shape":[2],"data_offsets":[5,7]})", 7),
            "the tensor \"y\" begins at byte 5 of the data, not at 4");
  for (const char* wrong :
       {R"("shape":[-1],"data_offsets":[0,4])", R"("shape":[1.0],"data_offsets":[0,4])",
        R"("shape":[1],"data_offsets":[4,0])", R"("shape":[1],"data_offsets":[0,4,8])",
        R"("shape":[1],"data_offsets":[0,18446744073709551615])", R"("shape":1,"data_offsets":4)",
        R"("shape":[4611686018427387904,4],"data_offsets":[0,0])",
        R"("shape":[4294967296,4294967296],"data_offsets":[0,0])"}) {
    EXPECT_NE(with(fmt::format(R"("x":{{"dtype":"F32",{}}})", wrong), 4), "") << wrong;
  }
}

TEST(Safetensors, HeadersThatAreNone) {
  EXPECT_NE(refusal({}), "");
  EXPECT_NE(refusal(bytes_of_text("short")), "");
  EXPECT_NE(refusal(std::vector<std::byte>(100, std::byte{0xff})), "");
  for (const std::string header : {"", "[]", "7", "{", "null", "{}x", "{\"x\":{}}", "{\"x\":7}"}) {
    EXPECT_NE(refusal(file_with(header, 0)), "") << header;
  }
  EXPECT_EQ(refusal(file_with("{\"x\":" + std::string(1'000'000, '['), 0)),
            "the header has more than 100 levels");
}

// Nothing but the reader's own checks guards it here: what it accepts must make sense.
RC_GTEST_PROP(Safetensors, DamagedFilesNeverCrash, (std::uint64_t seed)) {
  Random random(seed);
  for (int i = 0; i < 20; ++i) {
    std::vector<std::byte> file = file_of(sample_tensors());
    const std::uint64_t changes = 1 + random.below(3);
    for (std::uint64_t change = 0; change < changes; ++change) {
      file[random.below(random.below(2) == 0 ? file.size() : 300)] =
          static_cast<std::byte>(random.below(2) == 0 ? '0' + random.below(10) : random.next());
    }
    const auto tensors = read_safetensors(file);
    std::size_t bytes = 0;
    for (const auto& [name, tensor] : tensors ? *tensors : TensorMap{}) {
      bytes += tensor.bytes.size();
    }
    const bool is_right =
        tensors ? bytes == 24 + 8 + 3 : tensors.error().message.find('\n') == std::string::npos;
    RC_ASSERT(is_right);
  }
}

}  // namespace
}  // namespace motley
