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
#include "codec/float_bits.h"

namespace motley {
namespace {

constexpr std::size_t kHeadBytes = sizeof(std::uint32_t);  // k
constexpr std::size_t kWordBits = 32;                      // bits of a bitmap read at once

// The levels of the search over the 31 bits of a magnitude, from the top.
constexpr unsigned kFirstBits = 11;
constexpr unsigned kNextBits = 10;
constexpr std::size_t kFirstBuckets = 1U << kFirstBits;
static_assert(kTopkCounts == 2 * kFirstBuckets);

MOTLEY_INLINE inline std::uint32_t magnitude_of(float value) {
  return std::bit_cast<std::uint32_t>(value) & kMagnitude;
}

// A range of magnitudes as bits, both ends included.
struct MagnitudeRange {
  std::uint32_t low = 0;
  std::uint32_t high = kMagnitude;
};

// Calls visit(i, magnitude) for every entry in the range, ascending.
template <class Visit>
void visit_from(std::span<const float> values, MagnitudeRange range, std::size_t begin,
                Visit& visit) {
  for (std::size_t i = begin; i < values.size(); ++i) {
    const std::uint32_t magnitude = magnitude_of(values[i]);
    if (magnitude - range.low <= range.high - range.low) {
      visit(i, magnitude);
    }
  }
}

#if defined(__x86_64__)

// Skips 8 entries at once if none is in the range.
template <class Visit>
MOTLEY_AVX2 void visit_avx2(std::span<const float> values, MagnitudeRange range, Visit& visit) {
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
void visit_avx2(std::span<const float> values, MagnitudeRange range, Visit& visit) {
  visit_from(values, range, 0, visit);
}

#endif

template <class Visit>
void visit_range(std::span<const float> values, MagnitudeRange range, Machine machine,
                 Visit visit) {
  if (machine == Machine::kAvx2) {
    visit_avx2(values, range, visit);
  } else {
    visit_from(values, range, 0, visit);
  }
}

// Counts all entries by their upper bits. Neighbours are often in the same bucket, and the
// processor stalls when it adds to the same place twice in a row: so it alternates between two
// tables.
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

// The bucket of the wanted-th largest entry; `wanted` becomes its position within that bucket.
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
  std::size_t ties = 0;  // entries of exactly this magnitude to take, besides all above it
};

Threshold find_threshold(std::span<const float> values, std::size_t kept,
                         std::span<std::uint32_t, kTopkCounts> counts, Machine machine) {
  std::size_t wanted = kept;
  count_first(values, counts);
  std::uint32_t prefix = walk_down(counts.first(kFirstBuckets), wanted);
  unsigned shift = 31 - kFirstBits;
  while (shift > 0) {
    const MagnitudeRange range{prefix << shift, ((prefix + 1) << shift) - 1};
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

// One bit for each of up to 32 entries.
struct Compared {
  std::uint32_t above = 0;
  std::uint32_t equal = 0;
};

Compared compare(const float* from, std::size_t count, std::uint32_t threshold) {
  Compared bits;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t magnitude = magnitude_of(from[i]);
    bits.above |= static_cast<std::uint32_t>(magnitude > threshold) << i;
    bits.equal |= static_cast<std::uint32_t>(magnitude == threshold) << i;
  }
  return bits;
}

// Reports which entries are kept: take(first, bits) for each 32 entries from `first` on.
template <class Take>
struct Chooser {
  Threshold threshold;
  Take take;

  MOTLEY_INLINE void operator()(std::size_t first, Compared bits) {
    std::uint32_t kept = bits.above;
    for (; bits.equal != 0 && threshold.ties > 0; bits.equal &= bits.equal - 1) {
      kept |= bits.equal & (0U - bits.equal);  // the lowest bit
      --threshold.ties;
    }
    take(first, kept);
  }
};

template <class Take>
void choose_from(std::span<const float> values, std::size_t begin, Chooser<Take>& chooser) {
  for (std::size_t i = begin; i < values.size(); i += kWordBits) {
    const std::size_t count = std::min(kWordBits, values.size() - i);
    chooser(i, compare(values.data() + i, count, chooser.threshold.magnitude));
  }
}

#if defined(__x86_64__)

template <class Take>
MOTLEY_AVX2 void choose_avx2(std::span<const float> values, Chooser<Take>& chooser) {
  const __m256i all = _mm256_set1_epi32(static_cast<int>(kMagnitude));
  const __m256i threshold = _mm256_set1_epi32(static_cast<int>(chooser.threshold.magnitude));
  std::size_t i = 0;
  for (; i + kWordBits <= values.size(); i += kWordBits) {
    Compared bits;
    for (unsigned part = 0; part < kWordBits; part += 8) {
      const auto* const from = reinterpret_cast<const __m256i*>(values.data() + i + part);
      const __m256i magnitude = _mm256_and_si256(_mm256_loadu_si256(from), all);
      const __m256i above = _mm256_cmpgt_epi32(magnitude, threshold);
      const __m256i equal = _mm256_cmpeq_epi32(magnitude, threshold);
      bits.above |= static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(above))) << part;
      bits.equal |= static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(equal))) << part;
    }
    chooser(i, bits);
  }
  choose_from(values, i, chooser);
}

#else

template <class Take>
void choose_avx2(std::span<const float> values, Chooser<Take>& chooser) {
  choose_from(values, 0, chooser);
}

#endif

template <class Take>
void choose(std::span<const float> values, Threshold threshold, Machine machine, Take take) {
  Chooser<Take> chooser{threshold, take};
  if (machine == Machine::kAvx2) {
    choose_avx2(values, chooser);
  } else {
    choose_from(values, 0, chooser);
  }
}

enum class Form : std::uint8_t { kAll, kPlaces, kBitmap };

// The layout of what follows the head.
struct Layout {
  Form form = Form::kAll;
  std::size_t place_bytes = 0;
  std::size_t kept = 0;

  std::size_t numbers() const { return kHeadBytes + place_bytes; }
  std::size_t size() const { return numbers() + kept * sizeof(float); }
};

Layout layout_of(std::size_t count, std::size_t kept) {
  const std::size_t places = kept * sizeof(std::uint32_t);
  const std::size_t bitmap = (count + kWordBits - 1) / kWordBits * sizeof(std::uint32_t);
  if (kept == count) {
    return {Form::kAll, 0, kept};
  }
  return places <= bitmap ? Layout{Form::kPlaces, places, kept}
                          : Layout{Form::kBitmap, bitmap, kept};
}

// Reads the head, a place, or 32 places as bits.
MOTLEY_INLINE inline std::uint32_t word_at(const std::byte* bytes, std::size_t index) {
  std::uint32_t word;
  std::memcpy(&word, bytes + index * sizeof word, sizeof word);
  return word;
}

MOTLEY_INLINE inline float number_at(const std::byte* bytes, std::size_t index) {
  return std::bit_cast<float>(word_at(bytes, index));
}

// Calls body(place, number) for each of 32 places whose bit is set; returns where the next number
// is.
template <class Body>
MOTLEY_INLINE inline const std::byte* for_each_bit(std::uint32_t bits, std::size_t first,
                                                   const std::byte* numbers, const Body& body) {
  for (; bits != 0; bits &= bits - 1) {
    body(first + static_cast<std::size_t>(std::countr_zero(bits)), number_at(numbers, 0));
    numbers += sizeof(float);
  }
  return numbers;
}

// Calls body(place, number) for every entry of `count`.
template <class Body>
void for_each_entry(std::span<const std::byte> bytes, std::size_t count, Body body) {
  const Layout layout = layout_of(count, word_at(bytes.data(), 0));
  const std::byte* const places = bytes.data() + kHeadBytes;
  const std::byte* numbers = bytes.data() + layout.numbers();
  switch (layout.form) {
    case Form::kAll:
      for (std::size_t i = 0; i < count; ++i) {
        body(i, number_at(numbers, i));
      }
      return;
    case Form::kPlaces:
      for (std::size_t entry = 0; entry < layout.kept; ++entry) {
        body(word_at(places, entry), number_at(numbers, entry));
      }
      return;
    case Form::kBitmap:
      for (std::size_t i = 0; i < count; i += kWordBits) {
        numbers = for_each_bit(word_at(places, i / kWordBits), i, numbers, body);
      }
      return;
  }
}

Status check_places(const std::byte* places, std::size_t count, std::size_t kept) {
  std::size_t least = 0;
  for (std::size_t entry = 0; entry < kept; ++entry) {
    const std::size_t place = word_at(places, entry);
    if (place < least || place >= count) {
      return fail("topk: entry {} has the invalid place {} of {}{}", entry, place, count,
                  place < count ? ": not above the previous one" : "");
    }
    least = place + 1;
  }
  return {};
}

Status check_bitmap(const std::byte* places, std::size_t count, std::size_t kept) {
  const std::size_t words = (count + kWordBits - 1) / kWordBits;
  std::size_t marked = 0;
  on_machine(this_machine(), [&]() MOTLEY_INLINE {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < words; ++i) {
      sum += static_cast<std::size_t>(std::popcount(word_at(places, i)));
    }
    marked = sum;
  });
  const std::size_t used = count % kWordBits;
  if (used != 0 && word_at(places, words - 1) >> used != 0) {
    return fail("topk: a place beyond the last of {}", count);
  }
  if (marked != kept) {
    return fail("topk: {} places for {} entries", marked, kept);
  }
  return {};
}

}  // namespace

std::size_t topk_count(double ratio, std::size_t count) {
  MOTLEY_CHECK(ratio > 0 && ratio <= 1, "topk with ratio {}", ratio);
  const auto kept = static_cast<std::size_t>(std::ceil(ratio * static_cast<double>(count)));
  return std::clamp(kept, std::min<std::size_t>(count, 1), count);
}

std::size_t topk_size(std::size_t count, std::size_t kept) {
  return count == 0 ? 0 : layout_of(count, kept).size();
}

void topk_encode(std::span<const float> values, std::size_t kept, std::span<std::byte> bytes,
                 std::span<std::uint32_t, kTopkCounts> counts, Machine machine) {
  MOTLEY_CHECK(values.size() <= std::numeric_limits<std::uint32_t>::max(),
               "topk of {} numbers: places have 32 bits", values.size());
  MOTLEY_CHECK(kept > 0 && kept <= values.size() && bytes.size() == topk_size(values.size(), kept),
               "wrong size for {} of {} numbers: {} bytes", kept, values.size(), bytes.size());
  const Layout layout = layout_of(values.size(), kept);
  const auto head = static_cast<std::uint32_t>(kept);
  std::memcpy(bytes.data(), &head, sizeof head);
  std::byte* place_to = bytes.data() + kHeadBytes;
  std::byte* number_to = bytes.data() + layout.numbers();
  const float* const from = values.data();
  if (layout.form == Form::kAll) {
    std::memcpy(number_to, from, values.size_bytes());
    return;
  }
  const Threshold threshold = find_threshold(values, kept, counts, machine);
  if (layout.form == Form::kPlaces) {
    choose(values, threshold, machine, [=](std::size_t first, std::uint32_t bits) mutable {
      for (; bits != 0; bits &= bits - 1) {
        const auto place =
            static_cast<std::uint32_t>(first) + static_cast<std::uint32_t>(std::countr_zero(bits));
        std::memcpy(place_to, &place, sizeof place);
        std::memcpy(number_to, from + place, sizeof(float));
        place_to += sizeof place;
        number_to += sizeof(float);
      }
    });
    return;
  }
  choose(values, threshold, machine, [=](std::size_t first, std::uint32_t bits) mutable {
    std::memcpy(place_to, &bits, sizeof bits);
    place_to += sizeof bits;
    for (; bits != 0; bits &= bits - 1) {
      std::memcpy(number_to, from + first + std::countr_zero(bits), sizeof(float));
      number_to += sizeof(float);
    }
  });
}

Status topk_check(std::span<const std::byte> bytes, std::size_t count) {
  if (count == 0 || bytes.size() < kHeadBytes) {
    return bytes.empty() && count == 0 ? Status()
                                       : fail("topk: {} bytes for {} numbers", bytes.size(), count);
  }
  const std::size_t kept = word_at(bytes.data(), 0);
  if (kept == 0 || kept > count) {
    return fail("topk: {} entries of {}", kept, count);
  }
  const Layout layout = layout_of(count, kept);
  if (bytes.size() != layout.size()) {
    return fail("topk: {} bytes for {} entries of {}, not {}", bytes.size(), kept, count,
                layout.size());
  }
  const std::byte* const places = bytes.data() + kHeadBytes;
  switch (layout.form) {
    case Form::kPlaces:
      return check_places(places, count, kept);
    case Form::kBitmap:
      return check_bitmap(places, count, kept);
    default:
      return {};
  }
}

void topk_decode(std::span<const std::byte> bytes, std::span<float> values) {
  if (word_at(bytes.data(), 0) < values.size()) {
    std::fill(values.begin(), values.end(), 0.0F);
  }
  for_each_entry(bytes, values.size(),
                 [=](std::size_t place, float number) { values[place] = number; });
}

void topk_add(std::span<const std::byte> bytes, float weight, std::span<float> sum) {
  for_each_entry(bytes, sum.size(),
                 [=](std::size_t place, float number) { sum[place] += weight * number; });
}

void topk_clear(std::span<const std::byte> bytes, std::span<float> values) {
  for_each_entry(bytes, values.size(), [=](std::size_t place, float) { values[place] = 0; });
}

}  // namespace motley
