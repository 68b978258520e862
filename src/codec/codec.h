// Codec: in what form numbers travel.
//
//   Encoder encoder({.kind = CodecKind::kInt8}, seed, stream);
//   std::vector<std::byte> bytes(encoded_size(encoder.options(), values.size()));
//   encoder.encode(values, bytes);
//   Status sound = add_decoded(CodecKind::kInt8, bytes, weight, sum);   // at the other end
//
// Who receives need not know the ratio of a topk encoder, only the kind and how many numbers there
// are. What arrives from a peer may be damaged: decoding checks it and says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/random.h"

namespace motley {

enum class CodecKind : std::uint8_t { kNone, kFp16, kBf16, kInt8, kTopk };

struct CodecOptions {
  CodecKind kind = CodecKind::kNone;
  double ratio = 0.01;          // topk: which part of the entries travels, in (0, 1]
  bool error_feedback = false;  // what was lost is added to what travels next
};

// Bytes on the wire of `count` numbers.
std::size_t encoded_size(const CodecOptions& options, std::size_t count);

class Encoder {
 public:
  // Streams of one seed round independently: one per worker and purpose.
  Encoder(const CodecOptions& options, std::uint64_t seed, std::uint64_t stream);

  // `bytes` has exactly encoded_size(). With error feedback every call has as many values as the
  // first.
  void encode(std::span<const float> values, std::span<std::byte> bytes);

  // Of topk, from the next call on.
  void set_ratio(double ratio) { options_.ratio = ratio; }
  const CodecOptions& options() const { return options_; }
  // What error feedback has kept back so far; empty without it, or before the first call.
  std::span<const float> residual() const { return residual_; }

 private:
  CodecOptions options_;
  Random random_;
  std::vector<float> residual_;
  std::vector<float> scratch_;
};

// values = what the bytes say. An error leaves `values` in any state.
Status decode(CodecKind kind, std::span<const std::byte> bytes, std::span<float> values);
// sum += weight * what the bytes say; of topk it costs only the entries that travel. An error is
// found before anything is added.
Status add_decoded(CodecKind kind, std::span<const std::byte> bytes, float weight,
                   std::span<float> sum);

}  // namespace motley
