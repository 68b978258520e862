// What the processes of a measurement share: memory, a barrier, a directory to meet in.
#pragma once

#include <pthread.h>
#include <sys/mman.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace motley::bench {

// Zero-initialised Data that all processes forked later share, and a barrier for `count` of them.
template <class Data>
class SharedMemory {
 public:
  explicit SharedMemory(int processes) {
    void* memory =
        mmap(nullptr, sizeof(Layout), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      throw std::runtime_error("mmap failed");
    }
    layout_ = static_cast<Layout*>(memory);
    pthread_barrierattr_t attributes;
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&layout_->barrier, &attributes, static_cast<unsigned>(processes));
  }
  ~SharedMemory() { munmap(layout_, sizeof(Layout)); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  void wait_for_all() { pthread_barrier_wait(&layout_->barrier); }
  Data& operator*() { return layout_->data; }
  Data* operator->() { return &layout_->data; }

 private:
  struct Layout {
    pthread_barrier_t barrier;
    Data data;
  };
  Layout* layout_;
};

// A directory that is removed with its files when it goes out of scope.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "motley-bench-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      throw std::runtime_error("cannot make " + name);
    }
    path_ = name;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  std::string subdirectory(const std::string& name) const {
    std::filesystem::create_directories(path_ / name);
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

}  // namespace motley::bench
