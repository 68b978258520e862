#include "record/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/descriptor.h"

namespace motley {
namespace {

namespace fs = std::filesystem;

std::error_code code_of(int number) { return {number, std::generic_category()}; }

// Returns 0 or errno. Some file systems cannot sync a directory and say EINVAL.
int sync_or_error(int descriptor) {
  return ::fsync(descriptor) == 0 || errno == EINVAL ? 0 : errno;
}

std::error_code write_file(const fs::path& path, std::string_view contents, Durable durable) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (!file) {
    return code_of(errno);
  }
  const bool written = std::fwrite(contents.data(), 1, contents.size(), file) == contents.size() &&
                       std::fflush(file) == 0;
  int problem = written ? 0 : (errno != 0 ? errno : EIO);
  if (problem == 0 && durable == Durable::kYes) {
    problem = sync_or_error(::fileno(file));
  }
  const int close_error = std::fclose(file) == 0 ? 0 : errno;
  return code_of(problem != 0 ? problem : close_error);
}

// In a new file that nobody else can open. Returns 0 or errno.
int write_private(const fs::path& path, std::string_view contents) {
  std::error_code none;
  fs::remove(path, none);
  const Descriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  while (file && !contents.empty()) {
    const ssize_t written = ::write(file.get(), contents.data(), contents.size());
    if (written < 0 && errno != EINTR) {
      return errno;
    }
    contents.remove_prefix(static_cast<std::size_t>(written > 0 ? written : 0));
  }
  return file ? 0 : errno;
}

// Makes a rename in the directory survive a power failure. A directory that can be written to but
// not read cannot be synced.
std::error_code sync_directory(const fs::path& directory) {
  const fs::path path = directory.empty() ? fs::path(".") : directory;
  const Descriptor opened(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const int problem = opened ? sync_or_error(opened.get()) : errno;
  return code_of(problem == EACCES ? 0 : problem);
}

}  // namespace

fs::path part_of(const fs::path& file) {
  return file.parent_path() / fmt::format(".{}.tmp", file.filename().string());
}

std::error_code write_plainly(const fs::path& path, std::string_view contents) {
  return write_file(path, contents, Durable::kNo);
}

Status replace_file(const fs::path& file, std::string_view contents, Durable durable) {
  std::error_code none;
  const fs::path there = fs::canonical(file, none);
  const fs::path target = none ? file : there;  // a file that does not exist is not a link
  const fs::path part = part_of(target);
  std::error_code problem = write_file(part, contents, durable);
  if (!problem) {
    const auto before = fs::status(target, none);
    if (fs::exists(before)) {
      fs::permissions(part, before.permissions(), none);
    }
    fs::rename(part, target, problem);
  }
  if (!problem && durable == Durable::kYes) {
    problem = sync_directory(target.parent_path());
  }
  if (!problem) {
    return {};
  }
  fs::remove(part, none);
  return fail("{}: cannot be written: {}", file.string(), problem.message());
}

Status replace_private_file(const fs::path& file, std::string_view contents) {
  const fs::path part = part_of(file);
  std::error_code problem = code_of(write_private(part, contents));
  if (!problem) {
    fs::rename(part, file, problem);
  }
  if (!problem) {
    return {};
  }
  std::error_code none;
  fs::remove(part, none);
  return fail("{}: cannot be written: {}", file.string(), problem.message());
}

}  // namespace motley
