// DirLock: the directory of a run belongs to one process at a time. Two that write checkpoints and
// metrics into it would destroy each other's.
#pragma once

#include <filesystem>

#include "base/descriptor.h"
#include "base/error.h"

namespace motley {

class DirLock {
 public:
  // Fails if somebody else holds it. The kernel releases it when the process ends, however it ends.
  // A file system that cannot lock is no reason to fail: there is no protection then.
  static Result<DirLock> take(const std::filesystem::path& directory);

  void release() { directory_.reset(); }

 private:
  explicit DirLock(Descriptor directory) : directory_(std::move(directory)) {}

  Descriptor directory_;
};

}  // namespace motley
