#include "codec/topk.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/check.h"

namespace motley {
namespace {

constexpr std::uint32_t kMagnitude = 0x7fffffff;
constexpr std::size_t kEntryBytes = sizeof(std::uint32_t) + sizeof(float);

// The 31 bits of a magnitude, from the top.
constexpr unsigned kFirstBits = 11;
constexpr unsigned kNextBits = 10;
constexpr std::size_t kFirstBuckets = 1U << kFirstBits;
static_assert(kTopkCounts == 2 * kFirstBuckets);

MOTLEY_INLINE inline std::uint32_t magnitude_of(float value) {
  return std::bit_cast<std::uint32_t>(value) & kMagnitude;
}

// Magnitudes as bits, both included.
struct Range {
  std::uint32_t low = 0;
  std::uint32_t high = kMagnitude;
};

// visit(i, magnitude) for every entry in the range, ascending.
template <class Visit>
void visit_from(std::span<const float> values, Range range, std::size_t begin, Visit& visit) {
  for (std::size_t i = begin; i < values.size(); ++i) {
    const std::uint32_t magnitude = magnitude_of(values[i]);
    if (magnitude - range.low <= range.high - range.low) {
      visit(i, magnitude);
    }
  }
}

#if defined(__x86_64__)

// 8 entries are passed over at once where none is in the range.
template <class Visit>
MOTLEY_AVX2 void visit_avx2(std::span<const float> values, Range range, Visit& visit) {
  const __m256i all = _mm256_set1_epi32(static_cast<int>(kMagnitude));
  const __m256i low = _mm256_set1_epi32(static_cast<int>(range.low));
  const __m256i width = _mm256_set1_epi32(static_cast<int>(range.high - range.low));
  std::size_t i = 0;
  for (; i + 8 <= values.size(); i += 8) {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values.data() + i));
    const __m256i above = _mm256_sub_epi32(_mm256_and_si256(bits, all), low);
    const __m256i inside = _mm256_cmpeq_epi32(_mm256_min_epu32(above, width), above);
    auto mask = static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(inside)));
    for (; mask != 0; mask &= mask - 1) {
      const std::size_t at = i + static_cast<std::size_t>(std::countr_zero(mask));
      visit(at, magnitude_of(values[at]));
    }
  }
  visit_from(values, range, i, visit);
}

#else

template <class Visit>
void visit_avx2(std::span<const float> values, Range range, Visit& visit) {
  visit_from(values, range, 0, visit);
}

#endif

template <class Visit>
void visit_range(std::span<const float> values, Range range, Machine machine, Visit visit) {
  if (machine == Machine::kAvx2) {
    visit_avx2(values, range, visit);
  } else {
    visit_from(values, range, 0, visit);
  }
}

// Of all entries by their upper bits. Neighbours are often of one bucket, and a processor waits for
// an addition to arrive before it adds to the same place again: two tables, in turns.
void count_first(std::span<const float> values, std::span<std::uint32_t, kTopkCounts> counts) {
  constexpr unsigned kShift = 31 - kFirstBits;
  std::fill(counts.begin(), counts.end(), 0);
  std::uint32_t* const even = counts.data();
  std::uint32_t* const odd = even + kFirstBuckets;
  const float* const from = values.data();
  const std::size_t pairs = values.size() / 2;
  for (std::size_t i = 0; i < pairs; ++i) {
    ++even[magnitude_of(from[2 * i]) >> kShift];
    ++odd[magnitude_of(from[2 * i + 1]) >> kShift];
  }
  if (values.size() % 2 == 1) {
    ++even[magnitude_of(values.back()) >> kShift];
  }
  for (std::size_t bucket = 0; bucket < kFirstBuckets; ++bucket) {
    even[bucket] += odd[bucket];
  }
}

// The bucket in which the wanted-th largest entry lies; `wanted` becomes how many of that bucket.
std::uint32_t walk_down(std::span<const std::uint32_t> counts, std::size_t& wanted) {
  std::size_t bucket = counts.size() - 1;
  while (counts[bucket] < wanted) {
    wanted -= counts[bucket];
    MOTLEY_CHECK(bucket > 0, "fewer entries than wanted");
    --bucket;
  }
  return static_cast<std::uint32_t>(bucket);
}

struct Threshold {
  std::uint32_t magnitude = 0;
  std::size_t ties = 0;  // so many of exactly this magnitude, besides all above it
};

Threshold find_threshold(std::span<const float> values, std::size_t kept,
                         std::span<std::uint32_t, kTopkCounts> counts, Machine machine) {
  if (kept == values.size()) {
    return {0, kept};
  }
  std::size_t wanted = kept;
  count_first(values, counts);
  std::uint32_t prefix = walk_down(counts.first(kFirstBuckets), wanted);
  unsigned shift = 31 - kFirstBits;
  while (shift > 0) {
    const Range range{prefix << shift, ((prefix + 1) << shift) - 1};
    shift -= kNextBits;
    const auto next = counts.first(std::size_t{1} << kNextBits);
    std::fill(next.begin(), next.end(), 0);
    std::uint32_t* const table = next.data();
    const std::uint32_t low = range.low;
    visit_range(values, range, machine,
                [=](std::size_t, std::uint32_t magnitude) { ++table[(magnitude - low) >> shift]; });
    prefix = (prefix << kNextBits) | walk_down(next, wanted);
  }
  return {prefix, wanted};
}

MOTLEY_INLINE inline std::uint32_t place_at(const std::byte* bytes, std::size_t entry) {
  std::uint32_t place;
  std::memcpy(&place, bytes + entry * sizeof place, sizeof place);
  return place;
}

// body(place, number) for every entry.
template <class Body>
void for_each_entry(std::span<const std::byte> bytes, Body body) {
  const std::size_t kept = bytes.size() / kEntryBytes;
  const std::byte* const places = bytes.data();
  const std::byte* const numbers = places + kept * sizeof(std::uint32_t);
  for (std::size_t entry = 0; entry < kept; ++entry) {
    float number;
    std::memcpy(&number, numbers + entry * sizeof number, sizeof number);
    body(place_at(places, entry), number);
  }
}

}  // namespace

std::size_t topk_count(double ratio, std::size_t count) {
  MOTLEY_CHECK(ratio > 0 && ratio <= 1, "topk with ratio {}", ratio);
  const auto kept = static_cast<std::size_t>(std::ceil(ratio * static_cast<double>(count)));
  return std::clamp(kept, std::min<std::size_t>(count, 1), count);
}

std::size_t topk_size(std::size_t kept) { return kept * kEntryBytes; }

void topk_encode(std::span<const float> values, std::size_t kept, std::span<std::byte> bytes,
                 std::span<std::uint32_t, kTopkCounts> counts, Machine machine) {
  MOTLEY_CHECK(values.size() <= std::numeric_limits<std::uint32_t>::max(),
               "topk of {} numbers: places have 32 bits", values.size());
  MOTLEY_CHECK(kept > 0 && kept <= values.size() && bytes.size() == topk_size(kept),
               "{} of {} numbers in {} bytes", kept, values.size(), bytes.size());
  const auto [threshold, ties] = find_threshold(values, kept, counts, machine);
  std::byte* place_to = bytes.data();
  std::byte* number_to = place_to + kept * sizeof(std::uint32_t);
  const float* const from = values.data();
  visit_range(
      values, {threshold, kMagnitude}, machine,
      [=, ties = ties, threshold = threshold](std::size_t i, std::uint32_t magnitude) mutable {
        if (magnitude == threshold) {
          if (ties == 0) {
            return;
          }
          --ties;
        }
        const auto place = static_cast<std::uint32_t>(i);
        std::memcpy(place_to, &place, sizeof place);
        std::memcpy(number_to, &from[i], sizeof from[i]);
        place_to += sizeof place;
        number_to += sizeof from[i];
      });
}

Status topk_check(std::span<const std::byte> bytes, std::size_t count) {
  const std::size_t kept = bytes.size() / kEntryBytes;
  if (bytes.size() % kEntryBytes != 0 || kept > count || (kept == 0 && count > 0)) {
    return fail("topk: {} bytes for {} numbers", bytes.size(), count);
  }
  std::size_t least = 0;
  for (std::size_t entry = 0; entry < kept; ++entry) {
    const std::size_t place = place_at(bytes.data(), entry);
    if (place < least || place >= count) {
      return fail("topk: entry {} has the place {} of {}{}", entry, place, count,
                  place < count ? ", not above the one before" : "");
    }
    least = place + 1;
  }
  return {};
}

void topk_decode(std::span<const std::byte> bytes, std::span<float> values) {
  std::fill(values.begin(), values.end(), 0.0F);
  for_each_entry(bytes, [=](std::uint32_t place, float number) { values[place] = number; });
}

void topk_add(std::span<const std::byte> bytes, float weight, std::span<float> sum) {
  for_each_entry(bytes, [=](std::uint32_t place, float number) { sum[place] += weight * number; });
}

void topk_clear(std::span<const std::byte> bytes, std::span<float> values) {
  for_each_entry(bytes, [=](std::uint32_t place, float) { values[place] = 0; });
}

}  // namespace motley
