// A data file that is read sequentially, plain or gzip-compressed (detected by its first bytes).
//
//   Result<InputFile> file = InputFile::open(path);
//   auto header = file->read(16);
//   auto body = file->read(count);      // exactly this many bytes, or an Error
//   auto end = file->expect_end();      // checks that nothing is left, and the gzip checksum
//
// Every Error is one line that names the file. Memory use depends on the real size of the file,
// never on what a header claims.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"

namespace motley {

using Bytes = std::vector<std::uint8_t>;

class InputFile {
 public:
  static Result<InputFile> open(const std::filesystem::path& path);

  const std::string& name() const { return name_; }

  // Reads exactly `size` more bytes.
  Result<Bytes> read(std::uint64_t size);
  // Reads the rest; an Error if that is more than `limit`.
  Result<Bytes> read_rest(std::uint64_t limit);
  // An Error unless everything has been read. Also verifies the checksum of a gzip file.
  Status expect_end();

 private:
  struct Close {
    void operator()(gzFile_s* file) const { gzclose(file); }
  };
  InputFile(std::string name, gzFile_s* file, std::uint64_t bytes_on_disk);

  // Reads up to `size` bytes; fewer only at the end of the file.
  Result<Bytes> read_up_to(std::uint64_t size);

  std::string name_;
  std::unique_ptr<gzFile_s, Close> file_;
  std::uint64_t bytes_on_disk_;
  std::uint64_t position_ = 0;  // in the uncompressed bytes
};

// Reads a whole file of at most `limit` bytes.
Result<Bytes> read_file(const std::filesystem::path& path, std::uint64_t limit);

// An Error unless `path` is a folder.
Status expect_folder(const std::filesystem::path& path);

}  // namespace motley
