#include "record/run_dir.h"

#include <algorithm>
#include <iterator>
#include <system_error>
#include <vector>

namespace motley {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kResults[] = {"job.toml",   "metrics.jsonl", "summary.json",
                                         "model.pt",   "compare.json",  "record.json",
                                         "trace.json", "report.html",   "rendezvous.json"};
constexpr std::string_view kEvents = "events.out.tfevents.";  // followed by the start time
constexpr int kMaxRunsOfOneSecond = 10'000;

std::string time_stamp(std::time_t now) {
  std::tm local{};
  localtime_r(&now, &local);
  char text[32];
  const std::size_t size = std::strftime(text, sizeof text, "%Y%m%d-%H%M%S", &local);
  return {text, size};
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
      error.clear();  // the name is taken by something that is not a directory
    }
  }
  return fail("{}: cannot be created: {}", (parent / name).string(),
              error ? error.message() : "too many directories with this name");
}

// Files of an earlier run, including temporary ones of a killed process.
std::vector<fs::path> results_in(const fs::path& path) {
  std::vector<fs::path> results;
  for (std::string_view file : kResults) {
    results.insert(results.end(), {path / file, part_of(path / file)});
  }
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
    if (entry.path().filename().string().starts_with(kEvents)) {
      results.push_back(entry.path());
    }
  }
  return results;
}

Status check_writable(const fs::path& path) {
  std::error_code none;
  // Try it: permissions do not tell whether the file system is read-only or full.
  const fs::path probe = part_of(path / "probe");
  const std::error_code problem = write_plainly(probe, "");
  fs::remove(probe, none);
  if (problem) {
    return fail("{}: cannot be written to: {}", path.string(), problem.message());
  }
  return {};
}

Status remove_all(const std::vector<fs::path>& files) {
  for (const fs::path& old : files) {
    std::error_code error;
    fs::remove(old, error);
    if (error) {
      return fail("{}: cannot be removed: {}", old.string(), error.message());
    }
  }
  return {};
}

Status create_at(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) {
    return fail("{}: cannot be created: {}", path.string(), error.message());
  }
  return {};
}

// Nothing is removed from a directory that another run is using.
Result<DirLock> take_for_writing(const fs::path& path) {
  if (Status status = check_writable(path); !status) {
    return tl::unexpected(status.error());
  }
  return DirLock::take(path);
}

}  // namespace

Result<RunDir> RunDir::create(const std::optional<std::string>& out, std::string_view job_name,
                              Durable durable, std::time_t now) {
  if (!out) {
    auto created = create_new(job_name, now);
    return created ? DirLock::take(*created).map(
                         [&](DirLock&& lock) { return RunDir(*created, durable, std::move(lock)); })
                   : tl::unexpected(created.error());
  }
  if (Status status = create_at(*out); !status) {
    return tl::unexpected(status.error());
  }
  return open(*out, results_in(*out), durable);
}

Result<RunDir> RunDir::open(const fs::path& path, const std::vector<fs::path>& superfluous,
                            Durable durable) {
  auto lock = take_for_writing(path);
  if (!lock) {
    return tl::unexpected(lock.error());
  }
  const Status status = remove_all(superfluous);
  return status ? Result<RunDir>(RunDir(path, durable, std::move(*lock)))
                : tl::unexpected(status.error());
}

Result<RunDir> RunDir::reopen(const fs::path& path, Durable durable) {
  return open(path,
              {path / "model.pt", path / "summary.json", path / "record.json", path / "trace.json",
               path / "report.html", path / "rendezvous.json"},
              durable);
}

bool RunDir::is_result(std::string_view name) {
  return std::ranges::find(kResults, name) != std::end(kResults) || name.starts_with(kEvents);
}

Status RunDir::write(std::string_view file, std::string_view contents) const {
  return replace_file(path_ / file, contents, durable_);
}

}  // namespace motley
