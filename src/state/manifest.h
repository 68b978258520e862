// Manifest: what state.json of a checkpoint says. The text ends with a checksum of all that is
// before it, and it has the size and checksum of every other file.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace motley {

constexpr std::string_view kManifestFile = "state.json";
constexpr std::string_view kTensorsFile = "tensors.safetensors";
constexpr std::int64_t kCheckpointVersion = 1;

// By which a change of a file is noticed.
struct FileSeal {
  std::uint64_t bytes = 0;
  std::string sha256;

  friend bool operator==(const FileSeal&, const FileSeal&) = default;
};

struct Manifest {
  std::int64_t step = 0;
  std::optional<double> accuracy;
  std::map<std::string, FileSeal, std::less<>> files;  // tensors.safetensors and a program's own
  nlohmann::json values = nlohmann::json::object();    // of the State
};

// Fails if a text in it is not UTF-8, or a number not finite.
Result<std::string> manifest_text(const Manifest& manifest);

// The message does not name the file. A version that is newer than this program is refused.
Result<Manifest> parse_manifest(std::string_view text);

// Whether a program's own file may have this name: one that cannot leave the directory, is not
// hidden, and is not taken.
bool is_own_file_name(std::string_view name);

}  // namespace motley
