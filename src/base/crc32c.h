// CRC-32C (Castagnoli; RFC 3720, appendix B.4), the checksum of TensorBoard event files. Uses a
// table of 1 KiB. Cost: one lookup per byte, about 400 MB/s; records are only kilobytes.
#pragma once

#include <cstdint>
#include <string_view>

namespace motley {

std::uint32_t crc32c(std::string_view bytes);

}  // namespace motley
