#include "state/checkpoint_store.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <string_view>

#include "base/check.h"

namespace motley {
namespace {

namespace fs = std::filesystem;

std::optional<std::int64_t> step_named(std::string_view name) {
  std::int64_t step = 0;
  const char* end = name.data() + name.size();
  const auto [rest, problem] = std::from_chars(name.data(), end, step);
  if (problem != std::errc{} || rest != end || std::to_string(step) != name || step < 0) {
    return std::nullopt;
  }
  return step;
}

// The step of ".500.tmp", if `use` is "tmp".
std::optional<std::int64_t> hidden_step(std::string_view name, std::string_view use) {
  const std::string ending = fmt::format(".{}", use);
  if (name.size() <= ending.size() || !name.starts_with('.') || !name.ends_with(ending)) {
    return std::nullopt;
  }
  return step_named(name.substr(1, name.size() - 1 - ending.size()));
}

bool is_better(const std::optional<double>& one, const std::optional<double>& other) {
  return one && (!other || *one > *other);
}

}  // namespace

std::vector<ListedCheckpoint> superfluous(const std::vector<ListedCheckpoint>& newest_first,
                                          int count, std::int64_t written) {
  MOTLEY_CHECK(count >= 1, "keep {} checkpoints", count);
  const ListedCheckpoint* best = nullptr;
  for (const ListedCheckpoint& each : newest_first) {
    if (is_better(each.accuracy, best ? best->accuracy : std::nullopt)) {
      best = &each;
    }
  }
  std::vector<ListedCheckpoint> others;
  for (std::size_t i = static_cast<std::size_t>(count); i < newest_first.size(); ++i) {
    if (&newest_first[i] != best && newest_first[i].step != written) {
      others.push_back(newest_first[i]);
    }
  }
  return others;
}

fs::path CheckpointStore::path_of(std::int64_t step) const {
  return directory_ / std::to_string(step);
}

Result<std::vector<CheckpointStore::Candidate>> CheckpointStore::candidates() const {
  const auto names = files_->list(directory_);
  if (!names && names.error() == std::errc::no_such_file_or_directory) {
    return std::vector<Candidate>{};
  }
  if (!names) {
    return fail("{}: cannot be read: {}", directory_.string(), names.error().message());
  }
  std::map<std::int64_t, fs::path, std::greater<>> found;
  for (const std::string& name : *names) {
    if (const auto step = step_named(name)) {
      found[*step] = directory_ / name;
    } else if (const auto aside = hidden_step(name, kSetAside)) {
      found.emplace(*aside, directory_ / name);  // only if the new one is not there
    }
  }
  return std::vector<Candidate>(found.begin(), found.end());
}

Result<std::vector<ListedCheckpoint>> CheckpointStore::list() const {
  const auto found = candidates();
  if (!found) {
    return tl::unexpected(found.error());
  }
  std::vector<ListedCheckpoint> listed;
  for (const auto& [step, path] : *found) {
    const auto manifest = read_manifest(*files_, path);
    if (!manifest || manifest->step != step) {
      continue;
    }
    listed.push_back({step, path, manifest->accuracy, 0});
    for (const auto& [name, seal] : manifest->files) {
      listed.back().bytes += seal.bytes;
    }
  }
  return listed;
}

Result<NewestCheckpoint> CheckpointStore::newest() const {
  const auto found = candidates();
  if (!found) {
    return tl::unexpected(found.error());
  }
  std::vector<std::string> passed_over;
  for (const auto& [step, path] : *found) {
    auto checkpoint = read_checkpoint(*files_, path);
    if (checkpoint && checkpoint->step == step) {
      return NewestCheckpoint{std::move(*checkpoint), path, std::move(passed_over)};
    }
    passed_over.push_back(checkpoint ? fmt::format("{}: is the checkpoint of step {}",
                                                   path.string(), checkpoint->step)
                                     : checkpoint.error().message);
  }
  if (passed_over.empty()) {
    return fail("{}: there is no checkpoint", directory_.string());
  }
  return fail("{}: no checkpoint is whole: {}", directory_.string(), fmt::join(passed_over, "; "));
}

Status CheckpointStore::write(const Checkpoint& checkpoint) {
  std::error_code problem = files_->make_directory(directory_);
  if (!problem || problem == std::errc::file_exists) {
    problem = files_->sync_directory(directory_.parent_path());
  }
  if (!problem) {
    problem = files_->sync_directory(directory_);
  }
  if (problem) {
    return fail("{}: cannot be written: {}", directory_.string(), problem.message());
  }
  // What cannot be removed is no reason to write nothing. keep() says it.
  static_cast<void>(clean_up());
  return write_checkpoint(*files_, path_of(checkpoint.step), checkpoint);
}

Status CheckpointStore::clean_up() {
  const auto names = files_->list(directory_);
  if (!names) {
    return fail("{}: cannot be read: {}", directory_.string(), names.error().message());
  }
  Status status;
  for (const std::string& name : *names) {
    const std::error_code problem = clean_up(name);
    if (problem && status) {
      status = fail("{}: cannot be removed: {}", (directory_ / name).string(), problem.message());
    }
  }
  return status;
}

std::error_code CheckpointStore::clean_up(const std::string& name) {
  if (hidden_step(name, kBeingWritten) || hidden_step(name, kBeingRemoved)) {
    return remove_tree(*files_, directory_ / name);
  }
  const auto aside = hidden_step(name, kSetAside);
  if (!aside) {
    return {};
  }
  const std::error_code problem = files_->rename(directory_ / name, path_of(*aside));
  return problem == std::errc::directory_not_empty ? remove_tree(*files_, directory_ / name)
                                                   : problem;
}

Status CheckpointStore::keep(int count, std::int64_t written) {
  const auto listed = list();
  return listed ? remove(superfluous(*listed, count, written)) : tl::unexpected(listed.error());
}

Status CheckpointStore::remove_newer(std::int64_t step) {
  auto listed = list();
  if (!listed) {
    return tl::unexpected(listed.error());
  }
  std::erase_if(*listed, [&](const ListedCheckpoint& each) { return each.step <= step; });
  return remove(*listed);
}

// First all get hidden names, for good. A half-removed checkpoint never has the name of a whole
// one.
Status CheckpointStore::remove(const std::vector<ListedCheckpoint>& checkpoints) {
  for (const ListedCheckpoint& each : checkpoints) {
    const fs::path hidden = hidden_name(path_of(each.step), kBeingRemoved);
    if (const std::error_code problem = files_->rename(each.path, hidden)) {
      return fail("{}: cannot be removed: {}", each.path.string(), problem.message());
    }
  }
  if (const std::error_code problem = files_->sync_directory(directory_)) {
    return fail("{}: cannot be written: {}", directory_.string(), problem.message());
  }
  return clean_up();
}

}  // namespace motley
