#include "base/bytes.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

namespace motley {
namespace {

ByteWriter sample() {
  ByteWriter writer;
  writer.put(std::int32_t{-5});
  writer.put_string("héllo");
  writer.put(0.1);
  writer.put_string("");
  writer.put(true);
  writer.put(std::numeric_limits<std::uint64_t>::max());
  return writer;
}

TEST(Bytes, ReadBackWhatWasWritten) {
  const ByteWriter writer = sample();
  ByteReader reader(writer.bytes());
  EXPECT_EQ(reader.get<std::int32_t>(), -5);
  EXPECT_EQ(reader.get_string(), "héllo");
  EXPECT_EQ(reader.get<double>(), 0.1);
  EXPECT_EQ(reader.get_string(), "");
  EXPECT_TRUE(reader.get<bool>());
  EXPECT_FALSE(reader.complete()) << "something is left over";
  EXPECT_EQ(reader.get<std::uint64_t>(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_TRUE(reader.complete());
}

TEST(Bytes, AreLittleEndian) {
  ByteWriter writer;
  writer.put(std::uint32_t{0x01020304});
  EXPECT_EQ(writer.bytes(), (std::vector{std::byte{4}, std::byte{3}, std::byte{2}, std::byte{1}}));
}

// Each length is in its own heap block, so a sanitizer sees any read past the end.
TEST(Bytes, TruncatedAnywhereIsNotOk) {
  const ByteWriter writer = sample();
  for (std::size_t size = 0; size < writer.bytes().size(); ++size) {
    const std::vector<std::byte> part(writer.bytes().begin(),
                                      writer.bytes().begin() + static_cast<std::ptrdiff_t>(size));
    ByteReader reader(part);
    reader.get<std::int32_t>();
    reader.get_string();
    reader.get<double>();
    reader.get_string();
    reader.get<bool>();
    reader.get<std::uint64_t>();
    EXPECT_FALSE(reader.ok()) << size;
    EXPECT_FALSE(reader.complete()) << size;
  }
}

TEST(Bytes, FloatsRoundTripAndAFalseCountIsRejected) {
  ByteWriter writer;
  writer.put_numbers(std::span<const float>(std::vector<float>{1, -2.5}));
  writer.put_numbers(std::span<const std::uint64_t>());
  ByteReader reader(writer.bytes());
  EXPECT_EQ(reader.get_numbers<float>(), (std::vector<float>{1, -2.5}));
  EXPECT_TRUE(reader.get_numbers<std::uint64_t>().empty());
  EXPECT_TRUE(reader.complete());

  ByteWriter liar;
  liar.put(std::numeric_limits<std::uint64_t>::max() / 4 + 2);  // times 4 wraps to 4
  liar.put(1.0F);
  ByteReader wary(liar.bytes());
  EXPECT_TRUE(wary.get_numbers<float>().empty());
  EXPECT_FALSE(wary.ok());
}

TEST(Bytes, ABadReaderGivesZeros) {
  ByteWriter writer;
  writer.put(std::uint32_t{1000});  // announces a string of 1000 bytes that do not follow
  writer.put(std::uint64_t{7});
  ByteReader reader(writer.bytes());
  EXPECT_EQ(reader.get_string(), "");
  EXPECT_EQ(reader.get<std::uint64_t>(), 0U) << "later reads give zero, though 8 bytes are left";
  EXPECT_FALSE(reader.ok());
}

RC_GTEST_PROP(Bytes, StringsAndNumbersRoundTrip,
              (const std::vector<std::pair<std::string, std::int64_t>>& items)) {
  ByteWriter writer;
  for (const auto& [text, number] : items) {
    writer.put_string(text);
    writer.put(number);
  }
  ByteReader reader(writer.bytes());
  for (const auto& [text, number] : items) {
    RC_ASSERT(reader.get_string() == text);
    RC_ASSERT(reader.get<std::int64_t>() == number);
  }
  RC_ASSERT(reader.complete());
}

RC_GTEST_PROP(Bytes, RandomBytesAreReadWithinTheirBounds, (const std::vector<std::uint8_t>& raw)) {
  ByteReader reader(std::as_bytes(std::span(raw)));
  std::size_t taken = 0;
  while (reader.ok() && !reader.complete()) {
    taken += sizeof(std::uint32_t) + reader.get_string().size();
  }
  RC_ASSERT(!reader.ok() || taken == raw.size());
}

}  // namespace
}  // namespace motley
