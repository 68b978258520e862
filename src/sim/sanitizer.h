// Tells AddressSanitizer and ThreadSanitizer about fiber switches. Both track the stack that a
// thread runs on; without these calls the first reports false errors for exceptions and the second
// mixes up call stacks. In a build without them all of this is empty.
//
// A SwitchShadow belongs to one fiber; its calls surround each switch:
//
//   scheduler                         fiber
//   entering(); switch  ------------> entered(); ...
//   left();             <------------ leaving() or leaving_for_good(); switch
#pragma once

#include <cstddef>
#include <span>

namespace motley {

#if defined(MOTLEY_SANITIZED)

class SwitchShadow {
 public:
  SwitchShadow() = default;
  ~SwitchShadow();
  SwitchShadow(const SwitchShadow&) = delete;
  SwitchShadow& operator=(const SwitchShadow&) = delete;

  void create(std::span<std::byte> stack);  // before the first entering()
  void entering();
  void entered();
  void leaving();
  void leaving_for_good();
  void left();

 private:
  // For AddressSanitizer: both stacks, and the fake frames of both sides.
  std::span<std::byte> stack_;
  const void* scheduler_stack_ = nullptr;
  std::size_t scheduler_stack_size_ = 0;
  void* fiber_frames_ = nullptr;
  void* scheduler_frames_ = nullptr;
  // For ThreadSanitizer: its handles.
  void* fiber_ = nullptr;
  void* scheduler_ = nullptr;
};

void sanitizer_forget_stack(std::span<std::byte> stack);

#else

class SwitchShadow {
 public:
  void create(std::span<std::byte>) {}
  void entering() {}
  void entered() {}
  void leaving() {}
  void leaving_for_good() {}
  void left() {}
};

inline void sanitizer_forget_stack(std::span<std::byte>) {}

#endif

}  // namespace motley
