// Codec: in what form numbers travel.
//
//   Encoder encoder({.kind = CodecKind::kInt8}, seed, stream);
//   std::vector<std::byte> bytes(encoded_size(encoder.options(), values.size()));
//   encoder.encode(values, bytes);
//   Status sound = add_decoded(CodecKind::kInt8, bytes, weight, sum);   // at the other end
//
// Who receives need not know the ratio of a topk encoder, only the kind and how many numbers there
// are. What arrives from a peer may be damaged: decoding checks it and says so.
//
//   kind   bytes a number   error of a number x             in
//   none   4                none
//   fp16   2                2^-11 |x|; 2^-25 if |x| < 2^-14  half.h
//   bf16   2                2^-8 |x|                         half.h
//   int8   1.016            largest |x| of 256 / 127         int8.h; right on average
//   topk   8 * ratio, or    all but the largest are lost     topk.h
//          4 * ratio + 1/8 if less
//
// With error feedback (Seide et al., Interspeech 2014; Karimireddy et al., ICML 2019) nothing is
// lost for good: what did not travel is added to what travels next.
//
// Cost: one pass over memory, topk four; two more with error feedback. Nothing is allocated
// after the first call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "motley/codec/codec_kind.h"

namespace motley {

struct CodecOptions {
  CodecKind kind = CodecKind::kNone;
  double ratio = 0.01;          // topk: which part of the entries travels, in (0, 1]
  bool error_feedback = false;  // what was lost is added to what travels next
};

// Bytes on the wire of `count` numbers; none for none. topk sends ceil(ratio * count) of them.
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
  // What error feedback has kept back so far; empty without it, before the first call, and where
  // nothing is lost (none). Of topk every entry of input + residual is sent or kept, to the bit.
  std::span<const float> residual() const { return residual_; }

 private:
  void encode_once(std::span<const float> values, std::span<std::byte> bytes);

  CodecOptions options_;
  Random random_;
  std::vector<float> residual_;
  std::vector<std::uint32_t> counts_;  // of topk, see topk.h
};

// values = what the bytes say. An error leaves `values` in any state.
Status decode(CodecKind kind, std::span<const std::byte> bytes, std::span<float> values);
// sum += weight * what the bytes say; of topk it costs only the entries that travel. An error is
// found before anything is added.
Status add_decoded(CodecKind kind, std::span<const std::byte> bytes, float weight,
                   std::span<float> sum);

}  // namespace motley
