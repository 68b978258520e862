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
  // A missing guard page is not an error: it only makes the crash of a buggy program less clear.
  if (cut_++ < kGuarded) {
    ::mprotect(cut.data(), kGuardBytes, PROT_NONE);
  }
  return cut.subspan(kGuardBytes);
}

void StackPool::give_back(std::span<std::byte> stack) {
  // The entry function of a finished fiber never returns, so its frames' poison remains: clear it.
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
