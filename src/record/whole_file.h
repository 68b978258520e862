// Atomic file replacement: written under a temporary name, then renamed.
#pragma once

#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/error.h"

namespace motley {

// Replaces `file` atomically. On failure (disk full, for example) the old file remains. Keeps
// permissions and follows links. Not synced: a power failure may lose it.
Status replace_file(const std::filesystem::path& file, std::string_view contents);

// The temporary name that replace_file() uses. It is fixed, so that leftovers of a killed process
// can be found.
std::filesystem::path part_of(const std::filesystem::path& file);

// Writes a file directly, not atomically.
std::error_code write_plainly(const std::filesystem::path& file, std::string_view contents);

}  // namespace motley
