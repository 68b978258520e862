#include "state/memory_files.h"

#include <algorithm>

#include "base/check.h"
#include "base/random.h"

namespace motley {
namespace {

namespace fs = std::filesystem;

std::error_code error_of(std::errc code) { return std::make_error_code(code); }

}  // namespace

struct MemoryFiles::Inode {
  bool is_directory = false;
  std::vector<std::byte> bytes;
  std::size_t synced_bytes = 0;  // files only grow
  Entries entries;
  std::vector<Entries> unsynced;  // the entries at the last sync and after each change but the last

  void change(Entries now) { unsynced.push_back(std::exchange(entries, std::move(now))); }
};

// Copies what is left after a crash.
class MemoryFiles::Survival {
 public:
  Survival(Luck luck, std::uint64_t seed) : luck_(luck), random_(seed) {}

  InodePointer of(const Inode& inode) {
    InodePointer& copy = copies_[&inode];
    if (!copy) {
      copy = std::make_shared<Inode>(inode);
      luck_ == Luck::kKilled ? copy_all(inode, *copy) : choose(inode, *copy);
    }
    return copy;
  }

 private:
  Entries of(const Entries& entries) {
    Entries copied;
    for (const auto& [name, inode] : entries) {
      copied[name] = of(*inode);
    }
    return copied;
  }
  void copy_all(const Inode& inode, Inode& copy) {
    copy.entries = of(inode.entries);
    for (Entries& each : copy.unsynced) {
      each = of(each);
    }
  }
  void choose(const Inode& inode, Inode& copy) {
    const std::size_t versions = inode.unsynced.size();
    const std::size_t version = luck_ == Luck::kRandom ? random_.below(versions + 1) : 0;
    copy.entries = of(version < versions ? inode.unsynced[version] : inode.entries);
    copy.unsynced.clear();
    choose_bytes(copy);
    copy.synced_bytes = copy.bytes.size();
  }
  void choose_bytes(Inode& file) {
    const auto some = [&](std::size_t end) {
      return file.synced_bytes + random_.below(end - file.synced_bytes + 1);
    };
    if (luck_ == Luck::kNothingIsLeft) {
      file.bytes.resize(file.synced_bytes);
      return;
    }
    file.bytes.resize(some(file.bytes.size()));
    if (random_.below(2) == 0) {
      const auto zeros = static_cast<std::ptrdiff_t>(some(file.bytes.size()));
      std::fill(file.bytes.begin() + zeros, file.bytes.end(), std::byte{0});
    }
  }

  const Luck luck_;
  Random random_;
  std::map<const Inode*, InodePointer> copies_;
};

class MemoryFiles::OpenFile final : public NewFile {
 public:
  OpenFile(const MemoryFiles& files, InodePointer inode)
      : files_(files), inode_(std::move(inode)) {}

  std::error_code write(std::span<const std::byte> bytes) override {
    const std::error_code problem = files_.fault("write");
    const auto part = bytes.first(problem ? bytes.size() / 2 : bytes.size());
    inode_->bytes.insert(inode_->bytes.end(), part.begin(), part.end());
    return problem;
  }
  std::error_code sync() override {
    const std::error_code problem = files_.fault("sync");
    if (!problem) {
      inode_->synced_bytes = inode_->bytes.size();
    }
    return problem;
  }

 private:
  const MemoryFiles& files_;
  const InodePointer inode_;
};

MemoryFiles::MemoryFiles() : root_(std::make_shared<Inode>()) {
  root_->is_directory = true;
  root_->entries["run"] = std::make_shared<Inode>(*root_);
}

MemoryFiles MemoryFiles::crashed(Luck luck, std::uint64_t seed) const {
  MemoryFiles files;
  files.root_ = Survival(luck, seed).of(*root_);
  files.can_exchange_ = can_exchange_;
  return files;
}

MemoryFiles::InodePointer MemoryFiles::find(const fs::path& path) const {
  InodePointer inode = root_;
  for (const fs::path& name : path.relative_path()) {
    const auto found = inode->entries.find(name.string());
    if (found == inode->entries.end()) {
      return nullptr;
    }
    inode = found->second;
  }
  return inode;
}

MemoryFiles::InodePointer MemoryFiles::regular(const fs::path& path) const {
  const InodePointer inode = find(path);
  return inode && !inode->is_directory ? inode : nullptr;
}

std::vector<std::byte>& MemoryFiles::contents(const fs::path& file) {
  const InodePointer inode = regular(file);
  MOTLEY_CHECK(inode, "no file {}", file.string());
  return inode->bytes;
}

void MemoryFiles::put(const fs::path& file, std::vector<std::byte> contents) {
  const InodePointer directory = find(file.parent_path());
  MOTLEY_CHECK(directory, "no directory {}", file.parent_path().string());
  auto inode = std::make_shared<Inode>();
  inode->bytes = std::move(contents);
  directory->entries[file.filename().string()] = std::move(inode);
}

FileResult<std::vector<std::string>> MemoryFiles::list(const fs::path& directory) {
  std::error_code problem = fault("list");
  const InodePointer inode = find(directory);
  if (!problem && !inode) {
    problem = error_of(std::errc::no_such_file_or_directory);
  }
  if (problem) {
    return tl::unexpected(problem);
  }
  std::vector<std::string> names;
  for (const auto& [name, entry] : inode->entries) {
    names.push_back(name);
  }
  return names;
}

FileResult<std::uint64_t> MemoryFiles::size(const fs::path& file) {
  if (const std::error_code problem = fault("size")) {
    return tl::unexpected(problem);
  }
  const InodePointer inode = regular(file);
  if (!inode) {
    return tl::unexpected(error_of(std::errc::no_such_file_or_directory));
  }
  return inode->bytes.size();
}

FileResult<std::vector<std::byte>> MemoryFiles::read(const fs::path& file) {
  if (const std::error_code problem = fault("read")) {
    return tl::unexpected(problem);
  }
  const InodePointer inode = regular(file);
  if (!inode) {
    return tl::unexpected(error_of(std::errc::no_such_file_or_directory));
  }
  return inode->bytes;
}

std::error_code MemoryFiles::add(const fs::path& path, InodePointer inode) {
  const InodePointer directory = find(path.parent_path());
  if (!directory) {
    return error_of(std::errc::no_such_file_or_directory);
  }
  Entries entries = directory->entries;
  if (!entries.emplace(path.filename().string(), std::move(inode)).second) {
    return error_of(std::errc::file_exists);
  }
  directory->change(std::move(entries));
  return {};
}

std::error_code MemoryFiles::make_directory(const fs::path& directory) {
  const std::error_code problem = fault("make_directory");
  auto inode = std::make_shared<Inode>();
  inode->is_directory = true;
  return problem ? problem : add(directory, std::move(inode));
}

FileResult<std::unique_ptr<NewFile>> MemoryFiles::create(const fs::path& file) {
  std::error_code problem = fault("create");
  auto inode = std::make_shared<Inode>();
  if (!problem) {
    problem = add(file, inode);
  }
  if (problem) {
    return tl::unexpected(problem);
  }
  return std::make_unique<OpenFile>(*this, std::move(inode));
}

std::error_code MemoryFiles::move(const fs::path& from, const fs::path& to) {
  MOTLEY_CHECK(from.parent_path() == to.parent_path(), "renamed into another directory");
  const InodePointer target = find(to);
  if (!find(from)) {
    return error_of(std::errc::no_such_file_or_directory);
  }
  if (target && !target->is_directory) {
    return error_of(std::errc::not_a_directory);
  }
  if (target && !target->entries.empty()) {
    return error_of(std::errc::directory_not_empty);
  }
  const InodePointer directory = find(from.parent_path());
  Entries entries = directory->entries;
  entries[to.filename().string()] = entries.extract(from.filename().string()).mapped();
  directory->change(std::move(entries));
  return {};
}

std::error_code MemoryFiles::rename(const fs::path& from, const fs::path& to) {
  const std::error_code problem = fault("rename");
  return problem ? problem : move(from, to);
}

std::error_code MemoryFiles::exchange(const fs::path& one, const fs::path& other) {
  if (const std::error_code problem = fault("exchange")) {
    return problem;
  }
  if (!can_exchange_) {
    return error_of(std::errc::not_supported);
  }
  if (!find(one) || !find(other)) {
    return error_of(std::errc::no_such_file_or_directory);
  }
  const InodePointer directory = find(one.parent_path());
  Entries entries = directory->entries;
  std::swap(entries[one.filename().string()], entries[other.filename().string()]);
  directory->change(std::move(entries));
  return {};
}

std::error_code MemoryFiles::remove(const fs::path& path) {
  if (const std::error_code problem = fault("remove")) {
    return problem;
  }
  const InodePointer inode = find(path);
  if (!inode) {
    return error_of(std::errc::no_such_file_or_directory);
  }
  if (!inode->entries.empty()) {
    return error_of(std::errc::directory_not_empty);
  }
  const InodePointer directory = find(path.parent_path());
  Entries entries = directory->entries;
  entries.erase(path.filename().string());
  directory->change(std::move(entries));
  return {};
}

std::error_code MemoryFiles::sync_directory(const fs::path& directory) {
  if (const std::error_code problem = fault("sync_directory")) {
    return problem;
  }
  const InodePointer inode = find(directory);
  if (!inode) {
    return error_of(std::errc::no_such_file_or_directory);
  }
  inode->unsynced.clear();
  return {};
}

}  // namespace motley
