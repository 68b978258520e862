// Checkpoint: a State on disk, as a directory (docs/state.md):
//
//   tensors.safetensors   the tensors
//   state.json            the values, and size and SHA-256 of every other file and of itself
//   ...                   a program's own files
//
// It is written under a hidden name, synced, and renamed. So a directory with the name of a
// checkpoint is whole, whatever happened while it was written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "state/files.h"
#include "state/manifest.h"
#include "state/state.h"

namespace motley {

struct Checkpoint {
  std::int64_t step = 0;
  std::optional<double> accuracy;  // of the last evaluation; none if it is not finite
  State state;
  std::map<std::string, std::vector<std::byte>> files;  // a program's own: is_own_file_name()

  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

// What a name beside a checkpoint is for, "/run/checkpoints/.500.tmp".
constexpr std::string_view kBeingWritten = "tmp";
constexpr std::string_view kSetAside = "old";  // the one that is replaced, for a moment
constexpr std::string_view kBeingRemoved = "gone";
std::filesystem::path hidden_name(const std::filesystem::path& directory, std::string_view use);

// Writes a checkpoint, in place of one that is there. There must be no hidden names of this
// checkpoint (CheckpointStore removes them). If it succeeds, the checkpoint survives a power
// failure. If not, what was there before is there still. A checkpoint that is replaced is there
// until the new one is. Where the file system cannot exchange two names, the old one has a hidden
// name for a moment, and CheckpointStore finds it there.
Status write_checkpoint(Files& files, const std::filesystem::path& directory,
                        const Checkpoint& checkpoint);

// Reads and checks every byte. The message is one line that names the file and says what is wrong.
// Memory: the largest file once more.
Result<Checkpoint> read_checkpoint(Files& files, const std::filesystem::path& directory);

// Reads state.json and checks the sizes of the other files, but not their contents.
Result<Manifest> read_manifest(Files& files, const std::filesystem::path& directory);

}  // namespace motley
