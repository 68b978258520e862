// Atomic file replacement: written under a temporary name, then renamed.
#pragma once

#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/error.h"

namespace motley {

// Whether a file must survive a power failure. Syncing takes two writes to the disk, often 10 ms.
enum class Durable { kNo, kYes };

// Replaces `file` atomically. On failure (disk full, for example) the old file remains. Keeps
// permissions and follows links. With Durable::kYes the file is synced before it is renamed, and
// its directory afterwards: also after a power failure there is the old file or the new one, and
// the new one if this has returned. With Durable::kNo that holds only if the machine stays up.
Status replace_file(const std::filesystem::path& file, std::string_view contents,
                    Durable durable = Durable::kYes);

// The same for a secret that is worthless once this machine is down: only this user can read the
// file, from its beginning. It takes the place of a link.
Status replace_private_file(const std::filesystem::path& file, std::string_view contents);

// The temporary name that replace_file() uses. It is fixed, so that leftovers of a killed process
// can be found.
std::filesystem::path part_of(const std::filesystem::path& file);

// Writes a file directly, not atomically and not synced.
std::error_code write_plainly(const std::filesystem::path& file, std::string_view contents);

}  // namespace motley
