// The cost of encoding and decoding numbers, compared with a plain copy of memory.
//
//   codec_bench [--quick] [--json FILE]
//
// A copy of the same 32-bit floats is the least that sending them unencoded would cost. The unit is
// bytes of floats per second. Both take turns; blocks are larger than any cache. The figure is the
// ratio of medians.
#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench_main.h"
#include "codec/codec.h"

namespace motley::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kFloats = 16'000'000;  // 64 MB
constexpr std::uint64_t kSeed = 1;

struct Named {
  const char* name;
  CodecKind kind;
};
constexpr Named kCodecs[] = {{"fp16", CodecKind::kFp16},
                             {"bf16", CodecKind::kBf16},
                             {"int8", CodecKind::kInt8},
                             {"topk", CodecKind::kTopk}};

template <class Body>
double bytes_per_second(Body body) {
  const auto begin = Clock::now();
  body();
  const std::chrono::duration<double> seconds = Clock::now() - begin;
  return static_cast<double>(kFloats * sizeof(float)) / seconds.count();
}

Rows::value_type row_of(const char* codec, const char* direction, const std::vector<double>& own,
                        const std::vector<double>& copies) {
  const double ratio = median(own) / median(copies);
  fmt::print("{} {}: {:.1f} GB/s, copy {:.1f} GB/s: ratio {:.2f}\n", codec, direction,
             median(own) / 1e9, median(copies) / 1e9, ratio);
  return {{"bench", "codec"},
          {"codec", codec},
          {"direction", direction},
          {"gb_per_second", median(own) / 1e9},
          {"copy_gb_per_second", median(copies) / 1e9},
          {"ratio", ratio}};
}

Rows measure(bool quick) {
  Rows rows = Rows::array();
  std::vector<float> values(kFloats);
  Random random(kSeed);
  for (float& value : values) {
    value = static_cast<float>(random.normal());
  }
  std::vector<float> other(kFloats, 1.0F);
  for (const auto& [name, kind] : kCodecs) {
    Encoder encoder({.kind = kind, .ratio = 0.01}, kSeed, 0);
    std::vector<std::byte> bytes(encoded_size(encoder.options(), kFloats), std::byte{1});
    std::vector<double> encodes;
    std::vector<double> decodes;
    std::vector<double> copies;
    encoder.encode(values, bytes);
    for (int round = quick ? 3 : 15; round > 0; --round) {
      encodes.push_back(bytes_per_second([&] { encoder.encode(values, bytes); }));
      decodes.push_back(bytes_per_second([&, k = kind] {
        if (!decode(k, bytes, other)) {
          throw std::runtime_error("the decoder rejected encoded bytes");
        }
      }));
      copies.push_back(bytes_per_second(
          [&] { std::memcpy(other.data(), values.data(), kFloats * sizeof(float)); }));
    }
    rows.push_back(row_of(name, "encode", encodes, copies));
    rows.push_back(row_of(name, "decode", decodes, copies));
  }
  return rows;
}

}  // namespace
}  // namespace motley::bench

int main(int argc, char** argv) {
  return motley::bench::bench_main(argc, argv, "codec_bench", motley::bench::measure);
}
