// Blocks are sent thousands of times: codecs allocate at the first call only.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "codec/any_values.h"

namespace {

std::atomic<long> allocations{0};

}  // namespace

void* operator new(std::size_t size) {
  ++allocations;
  void* const memory = std::malloc(size);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace motley {
namespace {

TEST(Allocation, OnlyAtTheFirstCall) {
  constexpr std::size_t kCount = 100'000;  // 400 KB
  Random random(1);
  const auto values = normal_values(random, kCount);
  std::vector<float> sum(kCount);
  for (const CodecKind kind : kAllCodecs) {
    Encoder encoder({.kind = kind, .error_feedback = true}, 1, 0);
    std::vector<std::byte> bytes(encoded_size(encoder.options(), kCount));
    const long before = allocations;
    encoder.encode(values, bytes);
    // The counter itself works: the first calls of codecs other than kNone do allocate.
    EXPECT_EQ(allocations > before, kind != CodecKind::kNone) << static_cast<int>(kind);
    const long after_first = allocations;
    for (int call = 0; call < 20; ++call) {
      encoder.encode(values, bytes);
      const bool sound =
          decode(kind, bytes, sum).has_value() && add_decoded(kind, bytes, 1, sum).has_value();
      EXPECT_TRUE(sound);
    }
    EXPECT_EQ(allocations, after_first) << static_cast<int>(kind);
  }
}

}  // namespace
}  // namespace motley
