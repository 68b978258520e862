// StackPool: stacks for fibers, reused when a fiber has ended.
//
// Memory is mapped in slabs and touched by nobody until a fiber runs on it, so that a stack costs
// the pages its fiber really uses. A page below each stack is a guard: running over the end faults
// instead of damaging the neighbour. Each guard splits a mapping in two, and Linux allows a process
// 65,530 mappings by default, so that only the first kGuarded stacks of a pool get one.
//
// Thread rule: one thread at a time. The pool outlives its stacks.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace motley {

class StackPool {
 public:
#if defined(MOTLEY_SANITIZED)
  static constexpr std::size_t kStackBytes = 256 << 10;  // their frames are larger
#else
  static constexpr std::size_t kStackBytes = 64 << 10;
#endif
  static constexpr std::size_t kGuarded = 8192;

  StackPool() = default;
  ~StackPool();
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;

  // Throws std::bad_alloc when the system has no memory left.
  std::span<std::byte> take();
  void give_back(std::span<std::byte> stack);

 private:
  void add_slab();

  std::vector<std::span<std::byte>> slabs_;
  std::span<std::byte> fresh_;  // of the last slab: what no stack was cut from yet
  std::vector<std::span<std::byte>> free_;
  std::size_t cut_ = 0;  // stacks, ever
};

}  // namespace motley
