#include "session/resume_point.h"

#include <algorithm>
#include <array>
#include <system_error>

#include "job/difference.h"
#include "job/parse.h"
#include "session/run_checkpoints.h"
#include "session/warning.h"
#include "state/checkpoint_store.h"
#include "sync/registry.h"

namespace motley {
namespace {

namespace fs = std::filesystem;

bool has_text(const nlohmann::json& values, const char* name) {
  return values.contains(name) && values[name].is_string();
}

std::string command_of(const std::string& mode) {
  return mode == "simulate" ? "`motley simulate`" : "`motley train` or a program";
}

// A whole checkpoint may still be of something else than a run of this kind.
Status check_kind(const ResumePoint& point, const std::string& mode) {
  const nlohmann::json& values = point.state().values;
  if (!has_text(values, kSavedJob) || !has_text(values, kSavedMode) ||
      !has_text(values, kSavedName)) {
    return fail("{}: has no job: it is not a checkpoint of a run", point.path.string());
  }
  if (values[kSavedMode] != mode) {
    return fail("{}: was written by {}; only that can go on from it", point.path.string(),
                command_of(values[kSavedMode]));
  }
  return {};
}

CheckpointStore store_in(const fs::path& run) {
  return {real_files(), run / kCheckpointsDirectory};
}

Result<ResumePoint> newest_in(const fs::path& run) {
  return store_in(run).newest().map([&](NewestCheckpoint&& newest) {
    return ResumePoint{std::move(newest.checkpoint), newest.path, run,
                       std::move(newest.passed_over)};
  });
}

// The run that has the checkpoint; empty if the checkpoint was copied elsewhere. The current
// directory may be that of the run, or of its checkpoints.
fs::path run_of(const fs::path& checkpoint) {
  const fs::path parent = checkpoint.parent_path();
  if (parent == kCheckpointsDirectory) {
    return ".";
  }
  const fs::path place =
      parent.empty() ? fs::absolute(checkpoint).lexically_normal().parent_path() : parent;
  return place.filename() == kCheckpointsDirectory ? place.parent_path() : fs::path{};
}

bool is_checkpoint(const fs::path& path) {
  std::error_code none;
  return fs::is_regular_file(path / kManifestFile, none) || !run_of(path).empty();
}

// Of the checkpoints of a run; the current directory may be it.
bool is_folder_of_checkpoints(const fs::path& path) {
  return fs::absolute(path).lexically_normal().filename() == kCheckpointsDirectory ||
         (path == "." && fs::current_path().filename() == kCheckpointsDirectory);
}

Result<ResumePoint> point_at(const std::string& where) {
  fs::path path = fs::path(where).lexically_normal();
  path = path.has_filename() ? path : path.parent_path();
  std::error_code none;
  if (!fs::is_directory(path, none)) {
    return fail("{}: no such directory", where);
  }
  if (is_folder_of_checkpoints(path)) {
    path = path == "." ? ".." : run_of(path / "any");
  }
  if (!is_checkpoint(path)) {
    return newest_in(path);
  }
  return read_checkpoint(real_files(), path).map([&](Checkpoint&& checkpoint) {
    return ResumePoint{std::move(checkpoint), path, run_of(path), {}};
  });
}

bool is_wanted(const fs::path& checkpoint, const ResumeWish& wish) {
  const auto manifest = read_manifest(real_files(), checkpoint);
  const auto is = [&](const char* name, const std::string& text) {
    return has_text(manifest->values, name) && manifest->values[name] == text;
  };
  return manifest && is(kSavedMode, wish.mode) && (!wish.name || is(kSavedName, *wish.name));
}

Result<ResumePoint> latest(const ResumeWish& wish) {
  std::optional<fs::file_time_type> newest;
  fs::path found;
  std::error_code none;
  for (const fs::directory_entry& run : fs::directory_iterator(wish.parent, none)) {
    const auto listed = store_in(run.path()).list();
    if (!listed || listed->empty() || !is_wanted(listed->front().path, wish)) {
      continue;
    }
    const auto written = fs::last_write_time(listed->front().path / kManifestFile, none);
    if (!newest || written > *newest) {
      newest = written;
      found = run.path();
    }
  }
  if (!newest) {
    return fail("no run{} in {} has a checkpoint of {}",
                wish.name ? fmt::format(" of the job \"{}\"", *wish.name) : "",
                wish.parent.string(), command_of(wish.mode));
  }
  return newest_in(found);
}

bool is_fixed(std::string_view key) {
  constexpr std::array kFixed = {"seed", "train.batch", "train.drop_last", "train.order",
                                 "train.optimizer"};
  return key.starts_with("model.") || key.starts_with("data.") ||
         std::ranges::find(kFixed, key) != kFixed.end();
}

}  // namespace

const std::string& ResumePoint::job() const {
  return state().values.at(kSavedJob).get_ref<const std::string&>();
}

std::shared_ptr<const State> state_in(const std::shared_ptr<const ResumePoint>& point) {
  return point ? std::shared_ptr<const State>(point, &point->state()) : nullptr;
}

Status check_job(const ResumePoint& point, const Job& job) {
  const auto before = parse_job(job_schema(), point.job(), (point.path / kManifestFile).string(),
                                {}, Mode::kConfig);
  return before ? check_resume(job_schema(), *before, job) : tl::unexpected(before.error());
}

void say_where(const ResumePoint& point, bool quiet) {
  for (const std::string& each : point.passed_over) {
    print_notice("warning: passed over: " + each);
  }
  if (!quiet) {
    print_notice(
        fmt::format("going on after step {} of {}", point.checkpoint.step, point.path.string()));
  }
}

bool has_checkpoint(const fs::path& run) {
  const auto listed = store_in(run).list();
  return listed && !listed->empty();
}

Result<ResumePoint> find_checkpoint(const std::string& where) { return point_at(where); }

Result<ResumePoint> find_resume_point(const std::string& where, const ResumeWish& wish) {
  auto point = where == "latest" ? latest(wish) : point_at(where);
  if (point) {
    if (const Status status = check_kind(*point, wish.mode); !status) {
      return tl::unexpected(status.error());
    }
  }
  return point;
}

Status check_resume(const JobSchema& schema, const Job& before, const Job& now) {
  for (const KeyDifference& each : differences(schema, before, now)) {
    if (is_fixed(each.key)) {
      return fail("{} is {}, but the run to go on with has {}: it cannot change", each.key,
                  each.second.empty() ? "not set" : each.second,
                  each.first.empty() ? "none" : each.first);
    }
  }
  return {};
}

}  // namespace motley
