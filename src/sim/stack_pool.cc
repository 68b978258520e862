#include "sim/stack_pool.h"

#include <sys/mman.h>

#include <new>

#include "sim/sanitizer.h"

namespace motley {
namespace {

constexpr std::size_t kGuardBytes = 4096;
constexpr std::size_t kCutBytes = StackPool::kStackBytes + kGuardBytes;
constexpr std::size_t kSlabStacks = 64;

}  // namespace

StackPool::~StackPool() {
  for (const auto& slab : slabs_) {
    ::munmap(slab.data(), slab.size());
  }
}

std::span<std::byte> StackPool::take() {
  if (!free_.empty()) {
    const auto stack = free_.back();
    free_.pop_back();
    return stack;
  }
  if (fresh_.empty()) {
    add_slab();
  }
  const auto cut = fresh_.first(kCutBytes);
  fresh_ = fresh_.subspan(kCutBytes);
  // A guard that cannot be had is no reason to fail: it only turns a bug into a clearer crash.
  if (cut_++ < kGuarded) {
    ::mprotect(cut.data(), kGuardBytes, PROT_NONE);
  }
  return cut.subspan(kGuardBytes);
}

void StackPool::give_back(std::span<std::byte> stack) {
  // The frames of a finished fiber's entry never return, and leave their marks behind.
  sanitizer_forget_stack(stack);
  free_.push_back(stack);
}

void StackPool::add_slab() {
  void* memory = ::mmap(nullptr, kSlabStacks * kCutBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::bad_alloc();
  }
  fresh_ = {static_cast<std::byte*>(memory), kSlabStacks * kCutBytes};
  slabs_.push_back(fresh_);
}

}  // namespace motley
