#include "record/run_dir.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

namespace motley {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kResults[] = {"job.toml", "metrics.jsonl", "summary.json", "model.pt",
                                         "compare.json"};
constexpr int kMaxRunsOfOneSecond = 10'000;

std::string time_stamp(std::time_t now) {
  std::tm local{};
  localtime_r(&now, &local);
  char text[32];
  const std::size_t size = std::strftime(text, sizeof text, "%Y%m%d-%H%M%S", &local);
  return {text, size};
}

// Written first, then renamed. The name is fixed so that the next run finds what a killed one left.
fs::path temporary(const fs::path& directory, std::string_view file) {
  return directory / fmt::format(".{}.tmp", file);
}

// 0, or what errno said.
int write_whole(const fs::path& path, std::string_view contents) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (!file) {
    return errno;
  }
  const bool written = std::fwrite(contents.data(), 1, contents.size(), file) == contents.size();
  const int write_error = written ? 0 : (errno != 0 ? errno : EIO);
  // What was buffered may meet a full disk only now.
  const int close_error = std::fclose(file) == 0 ? 0 : errno;
  return write_error != 0 ? write_error : close_error;
}

Result<fs::path> create_new(std::string_view job_name, std::time_t now) {
  const fs::path parent = "runs";
  std::error_code error;
  fs::create_directories(parent, error);
  const std::string name = fmt::format("{}-{}", time_stamp(now), job_name);
  for (int i = 1; !error && i <= kMaxRunsOfOneSecond; ++i) {
    const fs::path path = parent / (i == 1 ? name : fmt::format("{}-{}", name, i));
    if (fs::create_directory(path, error)) {
      return path;
    }
    if (error == std::errc::file_exists) {
      error.clear();  // something that is no directory has the name
    }
  }
  return fail("{}: cannot be made: {}", (parent / name).string(),
              error ? error.message() : "too many of that name");
}

Status create_at(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) {
    return fail("{}: cannot be made: {}", path.string(), error.message());
  }
  // Only trying tells: permissions say nothing of a file system that is read-only or full.
  const fs::path probe = temporary(path, "probe");
  const int problem = write_whole(probe, "");
  std::remove(probe.c_str());
  if (problem != 0) {
    return fail("{}: cannot be written to: {}", path.string(), std::strerror(problem));
  }
  for (std::string_view file : kResults) {
    for (const fs::path& old : {path / file, temporary(path, file)}) {
      fs::remove(old, error);
      if (error) {
        return fail("{}: cannot be removed: {}", old.string(), error.message());
      }
    }
  }
  return {};
}

}  // namespace

Result<RunDir> RunDir::create(const std::optional<std::string>& out, std::string_view job_name,
                              std::time_t now) {
  if (!out) {
    return create_new(job_name, now).map([](const fs::path& path) { return RunDir(path); });
  }
  if (Status status = create_at(*out); !status) {
    return tl::unexpected(status.error());
  }
  return RunDir(*out);
}

Status RunDir::write(std::string_view file, std::string_view contents) const {
  const fs::path target = path_ / file;
  const fs::path written = temporary(path_, file);
  int problem = write_whole(written, contents);
  if (problem == 0 && std::rename(written.c_str(), target.c_str()) != 0) {
    problem = errno;
  }
  if (problem == 0) {
    return {};
  }
  std::remove(written.c_str());
  return fail("{}: cannot be written: {}", target.string(), std::strerror(problem));
}

}  // namespace motley
