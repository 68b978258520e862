#include "record/whole_file.h"

#include <cerrno>
#include <cstdio>

namespace motley {

namespace fs = std::filesystem;

fs::path part_of(const fs::path& file) {
  return file.parent_path() / fmt::format(".{}.tmp", file.filename().string());
}

std::error_code write_plainly(const fs::path& path, std::string_view contents) {
  const auto code = [](int number) { return std::error_code(number, std::generic_category()); };
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (!file) {
    return code(errno);
  }
  const bool written = std::fwrite(contents.data(), 1, contents.size(), file) == contents.size();
  const int write_error = written ? 0 : (errno != 0 ? errno : EIO);
  // Closing flushes buffers and may be the first to meet a full disk.
  const int close_error = std::fclose(file) == 0 ? 0 : errno;
  return code(write_error != 0 ? write_error : close_error);
}

Status replace_file(const fs::path& file, std::string_view contents) {
  std::error_code none;
  const fs::path there = fs::canonical(file, none);
  const fs::path target = none ? file : there;  // a file that does not exist is not a link
  const fs::path part = part_of(target);
  std::error_code problem = write_plainly(part, contents);
  if (!problem) {
    const auto before = fs::status(target, none);
    if (fs::exists(before)) {
      fs::permissions(part, before.permissions(), none);
    }
    fs::rename(part, target, problem);
  }
  if (!problem) {
    return {};
  }
  fs::remove(part, none);
  return fail("{}: cannot be written: {}", file.string(), problem.message());
}

}  // namespace motley
