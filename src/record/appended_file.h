// AppendedFile: a file that grows while others read it, such as metrics.jsonl.
//
//   auto file = AppendedFile::create(dir / "metrics.jsonl");
//   Status status = file->append_line(R"({"step":10})");
//   auto same = AppendedFile::continue_after(dir / "metrics.jsonl", 3);  // keeps three lines
//
// Every addition is one write(2) at the end of the file. Killing the process leaves it whole or
// absent; only if the machine itself dies may the end of the file be torn or missing, because
// nothing is synced. A reader sees lines of up to kLongestLine bytes whole or not at all: Linux
// shows a write to readers page by page, so no such line crosses the boundary of a page; the line
// before is filled up with spaces.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "base/error.h"

namespace motley {

class AppendedFile {
 public:
  static constexpr std::size_t kLongestLine = 256;  // with its newline

  // Creates the file. An existing one is emptied.
  static Result<AppendedFile> create(const std::filesystem::path& path);
  // Opens an existing file and removes everything after its first `lines` lines. Fails if it has
  // fewer complete lines.
  static Result<AppendedFile> continue_after(const std::filesystem::path& path, std::int64_t lines);

  // The same, by bytes.
  static Result<AppendedFile> continue_at(const std::filesystem::path& path, std::size_t bytes);

  std::size_t size() const { return size_; }

  // On failure the file is as it was before.
  Status append(std::string_view bytes);
  // `line` has no newline. A line that cannot be written is kept and written with the next one.
  Status append_line(std::string_view line);

 private:
  AppendedFile(std::filesystem::path path, Descriptor file, std::size_t size)
      : path_(std::move(path)), file_(std::move(file)), size_(size) {}

  std::filesystem::path path_;
  Descriptor file_;
  std::size_t size_;   // bytes that are written
  std::string lines_;  // not written yet
};

}  // namespace motley
