// Files: the file system calls that checkpoints are made of. Tests use another implementation, in
// which every call can fail or be the last one before a crash (state/memory_files.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <tl/expected.hpp>
#include <vector>

namespace motley {

template <class T>
using FileResult = tl::expected<T, std::error_code>;

// A file that is being written. What was written is safe from a crash only after sync().
class NewFile {
 public:
  virtual ~NewFile() = default;
  virtual std::error_code write(std::span<const std::byte> bytes) = 0;
  virtual std::error_code sync() = 0;
};

class Files {
 public:
  virtual ~Files() = default;

  // Names of the entries of a directory, without "." and "..", in no order.
  virtual FileResult<std::vector<std::string>> list(const std::filesystem::path& directory) = 0;
  // Of a regular file; anything else is an error.
  virtual FileResult<std::uint64_t> size(const std::filesystem::path& file) = 0;
  virtual FileResult<std::vector<std::byte>> read(const std::filesystem::path& file) = 0;

  virtual std::error_code make_directory(const std::filesystem::path& directory) = 0;
  virtual FileResult<std::unique_ptr<NewFile>> create(const std::filesystem::path& file) = 0;
  // A directory does not replace one that has entries: std::errc::directory_not_empty.
  virtual std::error_code rename(const std::filesystem::path& from,
                                 const std::filesystem::path& to) = 0;
  // Swaps two names in one step. Not every file system can: std::errc::not_supported.
  virtual std::error_code exchange(const std::filesystem::path& one,
                                   const std::filesystem::path& other) = 0;
  // A file, or a directory without entries.
  virtual std::error_code remove(const std::filesystem::path& path) = 0;
  // Names that were added to a directory, or renamed or removed, are safe from a crash after this.
  virtual std::error_code sync_directory(const std::filesystem::path& directory) = 0;
};

// The file system of this machine. Stateless, so all threads may use it.
Files& real_files();

// Removes a directory and what is in it. It is no error if there is none.
std::error_code remove_tree(Files& files, const std::filesystem::path& path);

}  // namespace motley
