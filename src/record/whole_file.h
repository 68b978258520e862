// Files that are there whole or not at all: written beside, then renamed.
#pragma once

#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/error.h"

namespace motley {

// Replaces `file` by one with these contents, atomically; on failure (as: disk full) what was there
// before is still there. Permissions stay, a link is followed. Not synced: a power cut may lose it.
Status replace_file(const std::filesystem::path& file, std::string_view contents);

// What replace_file() writes first. The name is fixed, so that what a killed process left is found.
std::filesystem::path part_of(const std::filesystem::path& file);

// Writes a file as it is.
std::error_code write_plainly(const std::filesystem::path& file, std::string_view contents);

}  // namespace motley
