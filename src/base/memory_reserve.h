// MemoryReserve: memory that is set aside, so that a process that gets no more can still say so.
//
//   } catch (...) {
//     reserve.release();
//     ... report it ...
//
// Many small blocks, because a large one would go back to the system when it is freed.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>

namespace motley {

class MemoryReserve {
 public:
  MemoryReserve() {
    for (auto& block : blocks_) {
      block = std::make_unique<std::byte[]>(kBlock);
    }
  }

  // Thread-safe, idempotent. Throws nothing.
  void release() {
    if (!released_.test_and_set()) {
      for (auto& block : blocks_) {
        block.reset();
      }
    }
  }

 private:
  static constexpr std::size_t kBlock = 16 << 10;
  std::array<std::unique_ptr<std::byte[]>, 16> blocks_;
  std::atomic_flag released_;
};

}  // namespace motley
