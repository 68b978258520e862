#include "codec/half.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "codec/any_values.h"

namespace motley {
namespace {

using Encode = void (*)(std::span<const float>, std::span<std::byte>, Machine);
using Decode = void (*)(std::span<const std::byte>, std::span<float>, Machine);
using Add = void (*)(std::span<const std::byte>, float, std::span<float>, Machine);

struct Format {
  const char* name;
  Encode encode;
  Decode decode;
  Add add;
  int bits;               // significant bits
  int least_exponent;     // of normal numbers
  std::uint16_t largest;  // code of the largest finite number
};
constexpr Format kFormats[] = {
    {"fp16", fp16_encode, fp16_decode, fp16_add, 11, -14, 0x7bff},
    {"bf16", bf16_encode, bf16_decode, bf16_add, 8, -126, 0x7f7f},
};

std::uint16_t code_of(const Format& format, float value, Machine machine = this_machine()) {
  std::array<std::byte, 2> bytes;
  format.encode({&value, 1}, bytes, machine);
  return std::bit_cast<std::uint16_t>(bytes);
}

float value_of(const Format& format, std::uint16_t code, Machine machine = this_machine()) {
  const auto bytes = std::bit_cast<std::array<std::byte, 2>>(code);
  float value = 0;
  format.decode(bytes, {&value, 1}, machine);
  return value;
}

// Computed from the definition of the format, without bit tricks.
double defined_value(const Format& format, std::uint16_t code) {
  const int fraction_bits = format.bits - 1;
  const int fraction = code & ((1 << fraction_bits) - 1);
  const int exponent = (code & 0x7fff) >> fraction_bits;
  const double sign = (code & 0x8000) != 0 ? -1 : 1;
  const int scale = std::max(exponent, 1) - 1 + format.least_exponent - fraction_bits;
  return sign * std::ldexp((exponent > 0 ? 1 << fraction_bits : 0) + fraction, scale);
}

TEST(Half, EveryCodeIsTheNumberThatTheFormatDefines) {
  for (const Format& format : kFormats) {
    for (std::uint32_t code = 0; code < 0x10000; ++code) {
      const auto half = static_cast<std::uint16_t>(code);
      const float value = value_of(format, half);
      const std::uint32_t magnitude = code & 0x7fff;
      if (magnitude <= format.largest) {
        ASSERT_EQ(value, defined_value(format, half)) << format.name << " " << code;
        ASSERT_EQ(std::signbit(value), code >= 0x8000);
      } else if (magnitude == format.largest + 1U) {
        ASSERT_TRUE(std::isinf(value)) << format.name << " " << code;
      } else {
        ASSERT_TRUE(std::isnan(value)) << format.name << " " << code;
      }
      if (!std::isnan(value)) {
        ASSERT_EQ(code_of(format, value), half) << format.name;
      }
    }
  }
}

// No neighbour is nearer; if two are equally near, it is the even one.
TEST(Half, RoundsToTheNearestAndTiesToEven) {
  Random random(3);
  for (const Format& format : kFormats) {
    const float largest = value_of(format, format.largest);
    int ties = 0;
    for (int i = 0; i < 150'000; ++i) {
      const auto bits = static_cast<std::uint32_t>(random.next());
      // A third of the values have few bits, so that there are ties.
      const float value =
          std::bit_cast<float>(i % 3 == 0 ? bits & ~0U << (23 - format.bits) : bits);
      if (!(std::abs(value) <= largest)) {
        continue;
      }
      const std::uint16_t code = code_of(format, value);
      const double error = std::abs(value - defined_value(format, code));
      for (const int step : {-1, 1}) {
        const auto other = static_cast<std::uint16_t>(code + step);
        if ((code & 0x7fff) + step < 0 || (other & 0x7fff) > format.largest) {
          continue;
        }
        const double other_error = std::abs(value - defined_value(format, other));
        ASSERT_LE(error, other_error) << format.name << " " << value;
        if (error == other_error) {
          ++ties;
          ASSERT_EQ(code % 2, 0) << format.name << " " << value;
        }
      }
    }
    EXPECT_GT(ties, 1000) << format.name;
  }
}

TEST(Half, KeepsItsBoundOfError) {
  Random random(4);
  for (const Format& format : kFormats) {
    const float largest = value_of(format, format.largest);
    const double normal = std::ldexp(1, format.least_exponent);
    for (int i = 0; i < 200'000; ++i) {
      const float value = std::bit_cast<float>(static_cast<std::uint32_t>(random.next()));
      if (!(std::abs(value) <= largest)) {
        continue;
      }
      const double error = std::abs(value - double{value_of(format, code_of(format, value))});
      const double bound = std::ldexp(std::max<double>(std::abs(value), normal), -format.bits);
      ASSERT_LE(error, bound) << format.name << " " << value;
    }
  }
}

TEST(Half, SaturatesWhatIsTooLargeAndKeepsWhatIsNotFinite) {
  using Limits = std::numeric_limits<float>;
  for (const Format& format : kFormats) {
    const float largest = value_of(format, format.largest);
    for (const Machine machine : {Machine::kPortable, this_machine()}) {
      EXPECT_EQ(code_of(format, Limits::max(), machine), format.largest) << format.name;
      EXPECT_EQ(code_of(format, Limits::lowest(), machine), format.largest | 0x8000);
      EXPECT_EQ(value_of(format, code_of(format, -std::nextafter(largest, Limits::max()))),
                -largest);
      EXPECT_EQ(code_of(format, Limits::infinity(), machine), format.largest + 1);
      EXPECT_EQ(code_of(format, -Limits::infinity(), machine), (format.largest + 1) | 0x8000);
      for (const float nan : {Limits::quiet_NaN(), Limits::signaling_NaN(),
                              std::bit_cast<float>(0xff800001U), std::bit_cast<float>(~0U)}) {
        EXPECT_TRUE(std::isnan(value_of(format, code_of(format, nan, machine), machine)));
      }
    }
  }
  EXPECT_EQ(value_of(kFormats[0], code_of(kFormats[0], 1e6F)), 65504.0F);
}

// On a processor without AVX2 this compares the portable form with itself.
TEST(Half, BothFormsGiveTheSameBits) {
  Random random(5);
  for (const Format& format : kFormats) {
    for (const std::size_t count : {1U, 7U, 8U, 9U, 31U, 100'000U}) {
      const auto values = any_values(random, count);
      std::vector<std::byte> portable(2 * count);
      std::vector<std::byte> wide(2 * count);
      format.encode(values, portable, Machine::kPortable);
      format.encode(values, wide, this_machine());
      ASSERT_EQ(portable, wide) << format.name << " " << count;

      const auto bytes = any_bytes(random, 2 * count);
      std::vector<float> one(count);
      std::vector<float> other(count);
      format.decode(bytes, one, Machine::kPortable);
      format.decode(bytes, other, this_machine());
      ASSERT_EQ(bits_of(one), bits_of(other)) << format.name << " " << count;

      one = normal_values(random, count);
      other = one;
      format.add(portable, 0.3F, one, Machine::kPortable);
      format.add(portable, 0.3F, other, this_machine());
      for (std::size_t i = 0; i < count; ++i) {  // which NaN a sum of two gives is not defined
        ASSERT_TRUE((std::isnan(one[i]) && std::isnan(other[i])) || one[i] == other[i]);
      }
    }
  }
}

}  // namespace
}  // namespace motley
