#include "state/files.h"

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
std::error_code last_error_unless(bool is_good) {
  return is_good ? std::error_code{} : code_of(errno);
}

// Some file systems cannot exchange names, or cannot sync a directory.
bool is_unsupported(int number) {
  return number == EINVAL || number == ENOSYS || number == ENOTSUP || number == ENOTTY;
}

class RealNewFile final : public NewFile {
 public:
  explicit RealNewFile(Descriptor file) : file_(std::move(file)) {}

  std::error_code write(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
      if (written < 0 && errno != EINTR) {
        return code_of(errno);
      }
      bytes = bytes.subspan(written > 0 ? static_cast<std::size_t>(written) : 0);
    }
    return {};
  }
  std::error_code sync() override { return last_error_unless(fsync(file_.get()) == 0); }

 private:
  Descriptor file_;
};

// As many bytes as there are, if there are fewer than there is room for.
FileResult<std::vector<std::byte>> read_up_to(const Descriptor& file, std::size_t size) {
  std::vector<std::byte> bytes(size);
  std::size_t at = 0;
  while (at < size) {
    const ssize_t got = ::read(file.get(), bytes.data() + at, size - at);
    if (got < 0 && errno != EINTR) {
      return tl::unexpected(code_of(errno));
    }
    if (got == 0) {
      break;
    }
    at += got > 0 ? static_cast<std::size_t>(got) : 0;
  }
  bytes.resize(at);
  return bytes;
}

class RealFiles final : public Files {
 public:
  FileResult<std::vector<std::string>> list(const fs::path& directory) override {
    std::vector<std::string> names;
    std::error_code problem;
    for (fs::directory_iterator each(directory, problem), end; !problem && each != end;
         each.increment(problem)) {
      names.push_back(each->path().filename().string());
    }
    if (problem) {
      return tl::unexpected(problem);
    }
    return names;
  }

  FileResult<std::uint64_t> size(const fs::path& file) override {
    struct stat status {};
    if (stat(file.c_str(), &status) != 0) {
      return tl::unexpected(code_of(errno));
    }
    if (!S_ISREG(status.st_mode)) {
      return tl::unexpected(code_of(S_ISDIR(status.st_mode) ? EISDIR : EINVAL));
    }
    return static_cast<std::uint64_t>(status.st_size);
  }

  FileResult<std::vector<std::byte>> read(const fs::path& file) override {
    const auto size = this->size(file);
    if (!size) {
      return tl::unexpected(size.error());
    }
    const Descriptor open_file(open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (!open_file) {
      return tl::unexpected(code_of(errno));
    }
    return read_up_to(open_file, *size);
  }

  std::error_code make_directory(const fs::path& directory) override {
    return last_error_unless(mkdir(directory.c_str(), 0777) == 0);
  }

  FileResult<std::unique_ptr<NewFile>> create(const fs::path& file) override {
    Descriptor open_file(open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!open_file) {
      return tl::unexpected(code_of(errno));
    }
    return std::make_unique<RealNewFile>(std::move(open_file));
  }

  std::error_code rename(const fs::path& from, const fs::path& to) override {
    const int number = std::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
    return code_of(number == EEXIST ? ENOTEMPTY : number);
  }

  std::error_code exchange(const fs::path& one, const fs::path& other) override {
    const bool is_done =
        renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) == 0;
    const int number = is_done ? 0 : errno;
    return code_of(is_unsupported(number) ? ENOTSUP : number);
  }

  std::error_code remove(const fs::path& path) override {
    const int number = std::remove(path.c_str()) == 0 ? 0 : errno;
    return code_of(number == EEXIST ? ENOTEMPTY : number);
  }

  std::error_code sync_directory(const fs::path& directory) override {
    const Descriptor file(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!file) {
      return code_of(errno);
    }
    const int number = fsync(file.get()) == 0 ? 0 : errno;
    return code_of(is_unsupported(number) ? 0 : number);
  }
};

}  // namespace

Files& real_files() {
  static RealFiles files;
  return files;
}

std::error_code remove_tree(Files& files, const fs::path& path) {
  std::error_code problem = files.remove(path);
  if (problem == std::errc::directory_not_empty) {
    const auto names = files.list(path);
    if (!names) {
      return names.error();
    }
    for (const std::string& name : *names) {
      if (problem = remove_tree(files, path / name); problem) {
        return problem;
      }
    }
    problem = files.remove(path);
  }
  return problem == std::errc::no_such_file_or_directory ? std::error_code{} : problem;
}

}  // namespace motley
