#include "compute/data/input_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace motley {
namespace {

constexpr std::uint64_t kFirstChunk = 1 << 16;
constexpr std::uint64_t kMostAtOnce = 1 << 20;
constexpr unsigned kZlibBuffer = 1 << 18;

}  // namespace

InputFile::InputFile(std::string name, gzFile_s* file, std::uint64_t bytes_on_disk)
    : name_(std::move(name)), file_(file), bytes_on_disk_(bytes_on_disk) {}

Result<InputFile> InputFile::open(const std::filesystem::path& path) {
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  if (!std::filesystem::exists(status)) {
    return fail("{}: no such file", path.string());
  }
  if (!std::filesystem::is_regular_file(status)) {
    return fail("{}: not a regular file", path.string());
  }
  std::error_code error;
  const std::uint64_t bytes = std::filesystem::file_size(path, error);
  errno = 0;
  gzFile_s* raw = error ? nullptr : gzopen(path.c_str(), "rb");
  if (raw == nullptr) {
    return fail("{}: cannot be opened: {}", path.string(),
                error ? error.message() : std::strerror(errno));
  }
  InputFile file(path.string(), raw, bytes);
  gzbuffer(raw, kZlibBuffer);
  if (path.extension() == ".gz" && gzdirect(raw) != 0) {
    return fail("{}: not a gzip file", path.string());
  }
  return file;
}

Result<Bytes> InputFile::read_up_to(std::uint64_t size) {
  Bytes bytes;
  // A plain file's length is known, so nothing is copied (one extra byte detects the end); for a
  // gzip file the buffer doubles.
  const std::uint64_t first = gzdirect(file_.get()) != 0 ? bytes_on_disk_ + 1 : kFirstChunk;
  std::uint64_t filled = 0;
  while (filled < size) {
    if (filled == bytes.size()) {
      bytes.resize(std::min(size, std::max(first, 2 * filled)));
    }
    const auto room = std::min<std::uint64_t>(bytes.size() - filled, kMostAtOnce);
    const int got = gzread(file_.get(), bytes.data() + filled, static_cast<unsigned>(room));
    int error = Z_OK;
    const char* message = gzerror(file_.get(), &error);
    if (error == Z_BUF_ERROR) {
      return fail("{}: the gzip data ends early; the file is truncated", name_);
    }
    if (error == Z_ERRNO) {
      return fail("{}: cannot be read: {}", name_, std::strerror(errno));
    }
    if (got < 0 || error != Z_OK) {
      return fail("{}: the gzip data is corrupt ({})", name_, message);
    }
    if (got == 0) {
      break;
    }
    filled += static_cast<std::uint64_t>(got);
  }
  bytes.resize(filled);
  position_ += filled;
  return bytes;
}

Result<Bytes> InputFile::read(std::uint64_t size) {
  const std::uint64_t begin = position_;
  auto bytes = read_up_to(size);
  if (bytes && bytes->size() < size) {
    return fail("{}: ends after {} bytes; at least {} were expected", name_, position_,
                begin + size);
  }
  return bytes;
}

Result<Bytes> InputFile::read_rest(std::uint64_t limit) {
  auto bytes = read_up_to(limit + 1);
  if (bytes && bytes->size() > limit) {
    return fail("{}: holds more than {} bytes, the most this kind of file may have", name_, limit);
  }
  return bytes;
}

Status InputFile::expect_end() {
  const std::uint64_t expected = position_;
  auto extra = read_up_to(1);
  if (!extra) {
    return tl::unexpected(extra.error());
  }
  if (!extra->empty()) {
    return fail("{}: is longer than the {} bytes its header announces", name_, expected);
  }
  return {};
}

Result<Bytes> read_file(const std::filesystem::path& path, std::uint64_t limit) {
  auto file = InputFile::open(path);
  if (!file) {
    return tl::unexpected(file.error());
  }
  return file->read_rest(limit);
}

Status expect_folder(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    return fail("{}: no such folder", path.string());
  }
  if (!std::filesystem::is_directory(path, ignored)) {
    return fail("{}: not a folder", path.string());
  }
  return {};
}

}  // namespace motley
