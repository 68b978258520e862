#include "motley/node/payload.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <vector>

#include "base/check.h"

namespace motley {
namespace {

constexpr std::align_val_t kAlignment{64};
constexpr int kSizeClasses = 48;                           // powers of two
constexpr std::size_t kKeptBytes = std::size_t{64} << 20;  // kept per size class

// Unused blocks by size class. One pool per process: it holds only memory, no state that a run can
// observe.
class BlockPool {
 public:
  std::byte* take(int size_class) {
    {
      std::lock_guard lock(mutex_);
      auto& free = free_[static_cast<std::size_t>(size_class)];
      if (!free.empty()) {
        auto* block = free.back();
        free.pop_back();
        return block;
      }
    }
    return static_cast<std::byte*>(::operator new (std::size_t{1} << size_class, kAlignment));
  }

  void give_back(std::byte* block, int size_class) {
    {
      std::lock_guard lock(mutex_);
      auto& free = free_[static_cast<std::size_t>(size_class)];
      if ((free.size() + 1) << size_class <= kKeptBytes) {
        free.push_back(block);
        return;
      }
    }
    ::operator delete(block, kAlignment);
  }

 private:
  std::mutex mutex_;
  std::array<std::vector<std::byte*>, kSizeClasses> free_;
};

BlockPool& pool() {
  static auto* instance = new BlockPool;  // never destroyed: blocks may be freed at exit
  return *instance;
}

}  // namespace

std::shared_ptr<std::byte> allocate_block(std::size_t size) {
  const auto size_class = static_cast<int>(std::bit_width(std::max<std::size_t>(size, 64) - 1));
  MOTLEY_CHECK(size_class < kSizeClasses, "cannot allocate a block of {} bytes", size);
  return {pool().take(size_class),
          [size_class](std::byte* block) { pool().give_back(block, size_class); }};
}

Payload Payload::copy_of(std::span<const std::byte> bytes) {
  if (bytes.empty()) {
    return {};
  }
  auto block = allocate_block(bytes.size());
  std::memcpy(block.get(), bytes.data(), bytes.size());
  return adopt(block, {block.get(), bytes.size()});
}

Payload Payload::adopt(std::shared_ptr<const void> owner, std::span<const std::byte> bytes) {
  Payload payload;
  payload.data_ = bytes.data();
  payload.size_ = bytes.size();
  payload.owner_ = std::move(owner);
  return payload;
}

Payload Payload::borrow(std::span<const float> floats) {
  return adopt(nullptr, std::as_bytes(floats));
}

Payload Payload::phantom(std::size_t size) {
  Payload payload;
  payload.size_ = size;
  return payload;
}

std::span<const float> Payload::floats() const {
  MOTLEY_CHECK(reinterpret_cast<std::uintptr_t>(data_) % alignof(float) == 0, "misaligned payload");
  return {reinterpret_cast<const float*>(data_), bytes().size() / sizeof(float)};
}

Payload Payload::from(std::size_t offset) const {
  MOTLEY_CHECK(offset <= size_, "offset {} in a payload of {}", offset, size_);
  Payload rest = *this;
  rest.data_ = data_ ? data_ + offset : nullptr;
  rest.size_ = size_ - offset;
  return rest;
}

}  // namespace motley
