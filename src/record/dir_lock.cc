#include "record/dir_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <utility>

namespace motley {

// The directory itself is locked, so there is no file that a crash could leave. Processes that are
// started later do not inherit the lock: workers may outlive a coordinator for a moment.
Result<DirLock> DirLock::take(const std::filesystem::path& directory) {
  Descriptor opened(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened && flock(opened.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return fail("{}: another run is using this directory: wait for its end, or stop it",
                directory.string());
  }
  return DirLock(std::move(opened));
}

}  // namespace motley
