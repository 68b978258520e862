// What it costs to process numbers on their way, as bytes of memory traffic for Node::process():
//
//   time = bytes read and written / memory bandwidth
//
// This holds where memory is the limit: copying, adding, fp16, bf16. Codecs that compute more count
// as the number of bytes that a copy moves in the same time, per number:
//
//   kind   encode      decode     add
//   none   8           8          12
//   fp16   6           6          10
//   bf16   7           6          10
//   int8   11          6          9
//   topk   28 + 9 e    4 + 5 e    2 + 5 e    with e encoded bytes per number
//
// Error feedback adds 20 to encoding. topk that keeps all numbers is a copy. The figures are the
// measured ratios of docs/codecs.md (64 MB, one core, relative to memcpy, which moves 8 bytes a
// number); those of topk agree within a fifth for ratios up to 0.9.
#pragma once

#include <cstddef>

#include "codec/codec.h"

namespace motley {

// Reads one number for each that it writes.
constexpr std::size_t copy_traffic(std::size_t count) { return 2 * sizeof(float) * count; }
// Reads two numbers for each that it writes.
constexpr std::size_t add_traffic(std::size_t count) { return 3 * sizeof(float) * count; }

// Of Encoder::encode().
std::size_t encode_traffic(const CodecOptions& options, std::size_t count);
// Of decode() and add_decoded(), for `count` numbers encoded in `bytes` bytes.
std::size_t decode_traffic(CodecKind kind, std::size_t count, std::size_t bytes);
std::size_t add_decoded_traffic(CodecKind kind, std::size_t count, std::size_t bytes);

}  // namespace motley
