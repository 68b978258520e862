// The bits of a float, without its sign.
#pragma once

#include <cstdint>

namespace motley {

inline constexpr std::uint32_t kMagnitude = 0x7fffffff;
inline constexpr std::uint32_t kInfinity = 0x7f800000;

}  // namespace motley
