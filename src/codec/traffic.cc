#include "codec/traffic.h"

namespace motley {
namespace {

// Bytes of memory traffic per number, and per encoded byte.
struct Traffic {
  std::size_t per_number = 0;
  std::size_t per_byte = 0;

  std::size_t of(std::size_t count, std::size_t bytes) const {
    return per_number * count + per_byte * bytes;
  }
};

struct CodecTraffic {
  Traffic encode;
  Traffic decode;
  Traffic add;
};

constexpr std::size_t kFeedback = 20;  // per number

CodecTraffic traffic_of(CodecKind kind) {
  switch (kind) {
    case CodecKind::kFp16:
      return {{6, 0}, {6, 0}, {10, 0}};
    case CodecKind::kBf16:
      return {{7, 0}, {6, 0}, {10, 0}};
    case CodecKind::kInt8:
      return {{11, 0}, {6, 0}, {9, 0}};
    case CodecKind::kTopk:
      return {{28, 9}, {4, 5}, {2, 5}};
    default:
      return {{copy_traffic(1), 0}, {copy_traffic(1), 0}, {add_traffic(1), 0}};
  }
}

// topk that keeps all numbers copies them.
CodecTraffic traffic_of(CodecKind kind, std::size_t count, std::size_t bytes) {
  const bool keeps_all = kind == CodecKind::kTopk && bytes >= count * sizeof(float);
  return traffic_of(keeps_all ? CodecKind::kNone : kind);
}

}  // namespace

std::size_t encode_traffic(const CodecOptions& options, std::size_t count) {
  const std::size_t bytes = encoded_size(options, count);
  const bool feeds_back = options.error_feedback && options.kind != CodecKind::kNone;
  return traffic_of(options.kind, count, bytes).encode.of(count, bytes) +
         (feeds_back ? kFeedback * count : 0);
}

std::size_t decode_traffic(CodecKind kind, std::size_t count, std::size_t bytes) {
  return traffic_of(kind, count, bytes).decode.of(count, bytes);
}

std::size_t add_decoded_traffic(CodecKind kind, std::size_t count, std::size_t bytes) {
  return traffic_of(kind, count, bytes).add.of(count, bytes);
}

}  // namespace motley
