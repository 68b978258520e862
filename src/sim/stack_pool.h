// StackPool: stacks for fibers, reused when a fiber has ended.
//
// Memory is mapped in slabs and not touched until a fiber runs on it, so a stack costs only the
// pages that its fiber uses. Below each stack is a guard page: overflow faults instead of damaging
// the neighbour. Each guard splits a mapping, and Linux allows a process 65,530 mappings by
// default, so only the first kGuarded stacks of a pool have one.
//
// Thread rule: one thread at a time. The pool must outlive its stacks.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace motley {

class StackPool {
 public:
#if defined(MOTLEY_SANITIZED)
  static constexpr std::size_t kStackBytes = 256 << 10;  // sanitizers make frames larger
#else
  static constexpr std::size_t kStackBytes = 64 << 10;
#endif
  static constexpr std::size_t kGuarded = 8192;

  StackPool() = default;
  ~StackPool();
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;

  // Throws std::bad_alloc if the system is out of memory.
  std::span<std::byte> take();
  void give_back(std::span<std::byte> stack);

 private:
  void add_slab();

  std::vector<std::span<std::byte>> slabs_;
  std::span<std::byte> fresh_;  // the unused part of the last slab
  std::vector<std::span<std::byte>> free_;
  std::size_t cut_ = 0;  // number of stacks cut so far
};

}  // namespace motley
