// CRC-32C (Castagnoli; RFC 3720, appendix B.4): the checksum of event files. A table of 1 KiB, one
// look per byte: some 400 MB a second, and what is summed here are records of kilobytes.
#pragma once

#include <cstdint>
#include <string_view>

namespace motley {

std::uint32_t crc32c(std::string_view bytes);

}  // namespace motley
