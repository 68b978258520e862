// In what form numbers travel (docs/codecs.md).
#pragma once

#include <cstdint>

namespace motley {

enum class CodecKind : std::uint8_t {
  kNone,  // 32-bit floats
  kFp16,
  kBf16,
  kInt8,
  kTopk,  // only the largest entries
};

}  // namespace motley
