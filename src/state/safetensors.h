// The safetensors format (https://huggingface.co/docs/safetensors): tensors by name, which programs
// in many languages can read. 8 bytes with the length of the header, little-endian; the header, a
// JSON object with type, shape and place of each tensor, and spaces at its end, so that the data
// begins at a multiple of 8; the data. Wide elements come first, so every element is aligned.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>

#include "base/error.h"
#include "state/state.h"

namespace motley {

using TensorMap = std::map<std::string, StateTensor>;
using ByteSink = std::function<Status(std::span<const std::byte>)>;

// Hands the file to `sink` part by part, without a copy of the tensors. Fails if the sink does, or
// if a name cannot be stored: "__metadata__", or one that is not UTF-8.
Status write_safetensors(const TensorMap& tensors, const ByteSink& sink);

// Reads a whole file. The tensors must fill it without gaps and overlaps; __metadata__ is ignored.
// The message does not name the file. Allocates no more than about the size of the file.
Result<TensorMap> read_safetensors(std::span<const std::byte> file);

}  // namespace motley
