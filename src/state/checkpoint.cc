#include "state/checkpoint.h"

#include <cmath>
#include <functional>
#include <utility>

#include "base/check.h"
#include "state/safetensors.h"
#include "state/sha256.h"

namespace motley {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLargestManifest = 1 << 30;

Status written(const fs::path& path, std::error_code problem) {
  if (problem) {
    return fail("{}: cannot be written: {}", path.string(), problem.message());
  }
  return {};
}

tl::unexpected<Error> unreadable(const fs::path& path, std::error_code problem) {
  return fail("{}: cannot be read: {}", path.string(), problem.message());
}

tl::unexpected<Error> about(const fs::path& path, const Error& error) {
  return fail("{}: {}", path.string(), error.message);
}

using Contents = std::function<Status(const ByteSink&)>;

Contents contents_of(std::span<const std::byte> bytes) {
  return [bytes](const ByteSink& sink) { return sink(bytes); };
}

// Writes and syncs a file.
Result<FileSeal> write_sealed(Files& files, const fs::path& path, const Contents& contents) {
  auto file = files.create(path);
  if (!file) {
    return tl::unexpected(written(path, file.error()).error());
  }
  Sha256 hash;
  FileSeal seal;
  std::error_code problem;
  Status status = contents([&](std::span<const std::byte> bytes) -> Status {
    hash.add(bytes);
    seal.bytes += bytes.size();
    problem = (*file)->write(bytes);
    return problem ? Status(fail("{}", problem.message())) : Status();
  });
  if (status) {
    problem = (*file)->sync();
  } else if (!problem) {
    return about(path, status.error());
  }
  if (problem) {
    return tl::unexpected(written(path, problem).error());
  }
  seal.sha256 = hash.digits();
  return seal;
}

// What goes into the files besides state.json, by name.
Result<std::map<std::string, Contents>> contents_by_name(const Checkpoint& checkpoint) {
  std::map<std::string, Contents> contents;
  for (const auto& [name, bytes] : checkpoint.files) {
    if (!is_own_file_name(name)) {
      return fail("{:?}: cannot be the name of a file of a checkpoint", name);
    }
    contents[name] = contents_of(bytes);
  }
  contents[std::string(kTensorsFile)] = [&](const ByteSink& sink) {
    return write_safetensors(checkpoint.state.tensors, sink);
  };
  return contents;
}

Status write_files(Files& files, const fs::path& directory, const Checkpoint& checkpoint) {
  const auto contents = contents_by_name(checkpoint);
  if (!contents) {
    return tl::unexpected(contents.error());
  }
  Manifest manifest{checkpoint.step, checkpoint.accuracy, {}, checkpoint.state.values};
  for (const auto& [name, each] : *contents) {
    auto seal = write_sealed(files, directory / name, each);
    if (!seal) {
      return tl::unexpected(seal.error());
    }
    manifest.files[name] = std::move(*seal);
  }
  const auto text = manifest_text(manifest);
  if (!text) {
    return about(directory / kManifestFile, text.error());
  }
  const auto seal =
      write_sealed(files, directory / kManifestFile, contents_of(std::as_bytes(std::span(*text))));
  return seal ? written(directory, files.sync_directory(directory)) : tl::unexpected(seal.error());
}

// The old one gets a hidden name for a moment.
std::error_code swap_aside(Files& files, const fs::path& fresh, const fs::path& directory) {
  const fs::path aside = hidden_name(directory, kSetAside);
  if (const std::error_code problem = files.rename(directory, aside)) {
    return problem;
  }
  const std::error_code problem = files.rename(fresh, directory);
  if (problem) {
    files.rename(aside, directory);
  }
  return problem;
}

// Afterwards the old one, if there was one, has a hidden name.
std::error_code put_in_place(Files& files, const fs::path& fresh, const fs::path& directory) {
  std::error_code problem = files.rename(fresh, directory);
  if (problem == std::errc::directory_not_empty) {
    problem = files.exchange(fresh, directory);
    if (problem == std::errc::not_supported) {
      problem = swap_aside(files, fresh, directory);
    }
  }
  return problem;
}

Result<std::vector<std::byte>> read_sealed(Files& files, const fs::path& path,
                                           const FileSeal& seal) {
  auto bytes = files.read(path);
  if (!bytes) {
    return unreadable(path, bytes.error());
  }
  if (bytes->size() != seal.bytes || sha256(*bytes) != seal.sha256) {
    return fail("{}: is damaged: its checksum is wrong", path.string());
  }
  return std::move(*bytes);
}

Status check_size(Files& files, const fs::path& path, const FileSeal& seal) {
  const auto size = files.size(path);
  if (!size) {
    return unreadable(path, size.error());
  }
  if (*size != seal.bytes) {
    return fail("{}: has {} bytes, but state.json says {}", path.string(), *size, seal.bytes);
  }
  return {};
}

}  // namespace

fs::path hidden_name(const fs::path& directory, std::string_view use) {
  return directory.parent_path() / fmt::format(".{}.{}", directory.filename().string(), use);
}

Status write_checkpoint(Files& files, const fs::path& directory, const Checkpoint& checkpoint) {
  MOTLEY_CHECK(checkpoint.step >= 0 && std::isfinite(checkpoint.accuracy.value_or(0)),
               "a checkpoint of step {} with accuracy {}", checkpoint.step,
               checkpoint.accuracy.value_or(0));
  const fs::path fresh = hidden_name(directory, kBeingWritten);
  Status status = written(fresh, files.make_directory(fresh));
  if (status) {
    status = write_files(files, fresh, checkpoint);
  }
  if (status) {
    status = written(directory, put_in_place(files, fresh, directory));
  }
  if (!status) {
    remove_tree(files, fresh);  // gives the space back to a disk that may be full
    return status;
  }
  // The old one is removed only if the new one stays in its place.
  status = written(directory, files.sync_directory(directory.parent_path()));
  if (status) {
    remove_tree(files, fresh);
    remove_tree(files, hidden_name(directory, kSetAside));
  }
  return status;
}

Result<Manifest> read_manifest(Files& files, const fs::path& directory) {
  const fs::path path = directory / kManifestFile;
  const auto size = files.size(path);
  if (!size) {
    return unreadable(path, size.error());
  }
  if (*size > kLargestManifest) {
    return fail("{}: is not of a motley checkpoint: it has {} bytes", path.string(), *size);
  }
  const auto text = files.read(path);
  if (!text) {
    return unreadable(path, text.error());
  }
  auto manifest = parse_manifest({reinterpret_cast<const char*>(text->data()), text->size()});
  if (!manifest) {
    return about(path, manifest.error());
  }
  for (const auto& [name, seal] : manifest->files) {
    if (Status status = check_size(files, directory / name, seal); !status) {
      return tl::unexpected(status.error());
    }
  }
  return manifest;
}

Result<Checkpoint> read_checkpoint(Files& files, const fs::path& directory) {
  auto manifest = read_manifest(files, directory);
  if (!manifest) {
    return tl::unexpected(manifest.error());
  }
  Checkpoint checkpoint{manifest->step, manifest->accuracy, {}, {}};
  checkpoint.state.values = std::move(manifest->values);
  for (const auto& [name, seal] : manifest->files) {
    auto bytes = read_sealed(files, directory / name, seal);
    if (!bytes) {
      return tl::unexpected(bytes.error());
    }
    checkpoint.files[name] = std::move(*bytes);
  }
  const auto raw = checkpoint.files.extract(std::string(kTensorsFile));
  auto tensors = read_safetensors(raw.mapped());
  if (!tensors) {
    return about(directory / kTensorsFile, tensors.error());
  }
  checkpoint.state.tensors = std::move(*tensors);
  return checkpoint;
}

}  // namespace motley
