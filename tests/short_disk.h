// While a ShortDisk lives, no file of this process can grow beyond a size, as on a full disk.
#pragma once

#include <sys/resource.h>

#include <csignal>

namespace motley {

class ShortDisk {
 public:
  explicit ShortDisk(rlim_t longest) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{longest, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~ShortDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  ShortDisk(const ShortDisk&) = delete;
  ShortDisk& operator=(const ShortDisk&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

}  // namespace motley
