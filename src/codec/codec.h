// Codec: how numbers are encoded for the network.
//
//   Encoder encoder({.kind = CodecKind::kInt8}, seed, stream);
//   std::vector<std::byte> bytes(encoded_size(encoder.options(), values.size()));
//   encoder.encode(values, bytes);
//   Status sound = add_decoded(CodecKind::kInt8, bytes, weight, sum);   // at the other end
//
// The receiver needs to know only the kind and the number of values, not the ratio of topk. Data
// from a peer may be damaged: decoding checks it and returns an error.
//
//   kind   bytes per value  error of a value x              in
//   none   4                none
//   fp16   2                2^-11 |x|; 2^-25 if |x| < 2^-14  half.h
//   bf16   2                2^-8 |x|                         half.h
//   int8   1.016            largest |x| of 256 / 127         int8.h; unbiased
//   topk   8 * ratio, or    all but the largest are lost     topk.h
//          4 * ratio + 1/8 if less
//
// With error feedback (Seide et al., Interspeech 2014; Karimireddy et al., ICML 2019) nothing is
// lost for good: what was not sent is added to the next message.
//
// Cost: one pass over memory, four for topk; two more with error feedback, and memory for two
// messages. Nothing is allocated
// after the first call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "motley/codec/codec_kind.h"
#include "motley/state/archive.h"

namespace motley {

struct CodecOptions {
  CodecKind kind = CodecKind::kNone;
  double ratio = 0.01;          // topk: the share of entries that is sent, in (0, 1]
  bool error_feedback = false;  // add what was not sent to the next message
};

// Bytes on the wire of `count` numbers; 0 for 0. topk sends ceil(ratio * count) of them.
std::size_t encoded_size(const CodecOptions& options, std::size_t count);

class Encoder {
 public:
  // Streams of one seed round independently. Use one per worker and purpose.
  Encoder(const CodecOptions& options, std::uint64_t seed, std::uint64_t stream);

  // `bytes` must have exactly encoded_size(). With error feedback every call must have as many
  // values as the first.
  void encode(std::span<const float> values, std::span<std::byte> bytes);

  // For topk, from the next call on.
  void set_ratio(double ratio) { options_.ratio = ratio; }
  const CodecOptions& options() const { return options_; }
  // What error feedback has held back so far. Empty without error feedback, before the first call,
  // and for kNone, which loses nothing. With topk every entry of input + residual is sent or kept,
  // to the bit.
  std::span<const float> residual() const { return residual_; }
  // The last message was not used: what error feedback holds back is what it was before it.
  void take_back();
  // The last message is used, or will be: it cannot be taken back any more.
  void forget() { may_take_back_ = false; }
  // The residual; before forget(), also the one before the last message ("before").
  void state(Archive& archive);

 private:
  void encode_once(std::span<const float> values, std::span<std::byte> bytes);

  CodecOptions options_;
  Random random_;
  std::vector<float> residual_;
  std::vector<float> before_;  // the last message
  bool may_take_back_ = false;
  std::vector<std::uint32_t> counts_;  // for topk, see topk.h
};

// Decodes into `values`. After an error their contents are undefined.
Status decode(CodecKind kind, std::span<const std::byte> bytes, std::span<float> values);
// sum += weight * decoded numbers. For topk the cost is that of the entries sent. An error is found
// before anything is added.
Status add_decoded(CodecKind kind, std::span<const std::byte> bytes, float weight,
                   std::span<float> sum);

}  // namespace motley
