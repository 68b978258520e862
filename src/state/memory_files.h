// MemoryFiles, for tests: a file system in memory that forgets, in a crash, what was not synced.
// After crashed():
//   - a file that was written but not synced has any part of its bytes, or zeros in their place;
//   - the entries of a directory are as they were after any of the changes since its last sync;
//   - directories and files lose these things independently of each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "state/files.h"

namespace motley {

class MemoryFiles final : public Files {
 public:
  // What of all that was not synced is left after a crash. kKilled: all is left, but not synced
  // yet; the program was killed, and the machine goes on.
  enum class Luck { kKilled, kNothingIsLeft, kRandom };
  // Asked before every call, with its name. If it returns an error, the call fails. A failing write
  // writes half of its bytes.
  using Fault = std::function<std::error_code(std::string_view call)>;

  MemoryFiles();  // the root "/" and the directory "/run", synced

  void set_fault(Fault fault) { fault_ = std::move(fault); }
  void set_can_exchange(bool can) { can_exchange_ = can; }
  // What is found after a crash now: a copy.
  MemoryFiles crashed(Luck luck, std::uint64_t seed) const;

  // For tests that damage files.
  std::vector<std::byte>& contents(const std::filesystem::path& file);
  void put(const std::filesystem::path& file, std::vector<std::byte> contents);

  FileResult<std::vector<std::string>> list(const std::filesystem::path& directory) override;
  FileResult<std::uint64_t> size(const std::filesystem::path& file) override;
  FileResult<std::vector<std::byte>> read(const std::filesystem::path& file) override;
  std::error_code make_directory(const std::filesystem::path& directory) override;
  FileResult<std::unique_ptr<NewFile>> create(const std::filesystem::path& file) override;
  std::error_code rename(const std::filesystem::path& from,
                         const std::filesystem::path& to) override;
  std::error_code exchange(const std::filesystem::path& one,
                           const std::filesystem::path& other) override;
  std::error_code remove(const std::filesystem::path& path) override;
  std::error_code sync_directory(const std::filesystem::path& directory) override;

  std::error_code fault(std::string_view call) const { return fault_ ? fault_(call) : no_error(); }

 private:
  struct Inode;
  class OpenFile;
  using InodePointer = std::shared_ptr<Inode>;
  using Entries = std::map<std::string, InodePointer>;

  static std::error_code no_error() { return {}; }
  InodePointer find(const std::filesystem::path& path) const;
  InodePointer regular(const std::filesystem::path& path) const;
  std::error_code add(const std::filesystem::path& path, InodePointer inode);
  std::error_code move(const std::filesystem::path& from, const std::filesystem::path& to);

  class Survival;

  InodePointer root_;
  Fault fault_;
  bool can_exchange_ = true;
};

}  // namespace motley
