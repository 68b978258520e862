#include "record/appended_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <system_error>

namespace motley {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPage = 4096;

tl::unexpected<Error> not_written(const fs::path& path, int problem) {
  return fail("{}: cannot be written: {}", path.string(), std::generic_category().message(problem));
}

Result<Descriptor> open_at_end(const fs::path& path, int more_flags) {
  const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | more_flags;
  Descriptor file(::open(path.c_str(), flags, 0666));
  if (!file) {
    return not_written(path, errno);
  }
  return file;
}

// Returns 0, or errno if not everything was written.
int write_whole(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) {
      return errno;
    }
    bytes.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
  }
  return 0;
}

// The number of bytes of the first lines; npos if there are not that many.
std::size_t length_of(std::string_view text, std::int64_t lines) {
  std::size_t length = 0;
  for (; lines > 0 && length != std::string_view::npos; --lines) {
    const std::size_t newline = text.find('\n', length);
    length = newline == std::string_view::npos ? newline : newline + 1;
  }
  return length;
}

// The spaces after `end` bytes that leave room in the page for a whole line after the newline.
std::size_t spaces_after(std::size_t end) {
  const std::size_t left = kPage - (end + 1) % kPage;
  return left < AppendedFile::kLongestLine ? left : 0;
}

}  // namespace

Result<AppendedFile> AppendedFile::create(const fs::path& path) {
  return open_at_end(path, O_TRUNC).map([&](Descriptor&& file) {
    return AppendedFile(path, std::move(file), 0);
  });
}

Result<AppendedFile> AppendedFile::continue_after(const fs::path& path, std::int64_t lines) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    return fail("{}: cannot be read", path.string());
  }
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  const std::size_t size = length_of(text, lines);
  if (size == std::string::npos) {
    return fail("{}: has fewer than {} lines", path.string(), lines);
  }
  return continue_at(path, size);
}

Result<AppendedFile> AppendedFile::continue_at(const fs::path& path, std::size_t bytes) {
  std::error_code problem;
  const std::uintmax_t size = fs::file_size(path, problem);
  if (problem || size < bytes) {
    return fail("{}: {}", path.string(),
                problem ? problem.message() : fmt::format("has fewer than {} bytes", bytes));
  }
  auto file = open_at_end(path, 0);
  if (!file) {
    return tl::unexpected(file.error());
  }
  if (::ftruncate(file->get(), static_cast<off_t>(bytes)) != 0) {
    return not_written(path, errno);
  }
  return AppendedFile(path, std::move(*file), bytes);
}

Status AppendedFile::append(std::string_view bytes) {
  if (const int problem = write_whole(file_.get(), bytes); problem != 0) {
    // A part would make the rest of the file unreadable.
    const int taken_back = ::ftruncate(file_.get(), static_cast<off_t>(size_));
    static_cast<void>(taken_back);  // fails for a pipe or a device, which has no length
    return not_written(path_, problem);
  }
  size_ += bytes.size();
  return {};
}

Status AppendedFile::append_line(std::string_view line) {
  lines_ += line;
  lines_.append(spaces_after(size_ + lines_.size()), ' ');
  lines_ += '\n';
  if (Status status = append(lines_); !status) {
    return status;
  }
  lines_.clear();
  return {};
}

}  // namespace motley
