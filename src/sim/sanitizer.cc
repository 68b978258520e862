#include "sim/sanitizer.h"

#if defined(MOTLEY_SANITIZED)

#if defined(__has_feature)  // clang
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>

#include <vector>
// A function that switches fibers would be entered on one shadow stack and left on another.
#define MOTLEY_CHANGES_FIBER __attribute__((no_sanitize("thread")))
#else
#define MOTLEY_CHANGES_FIBER
#endif

namespace motley {

#if defined(__SANITIZE_ADDRESS__)

void SwitchShadow::create(std::span<std::byte> stack) { stack_ = stack; }
SwitchShadow::~SwitchShadow() = default;

void SwitchShadow::entering() {
  __sanitizer_start_switch_fiber(&scheduler_frames_, stack_.data(), stack_.size());
}
void SwitchShadow::entered() {
  __sanitizer_finish_switch_fiber(fiber_frames_, &scheduler_stack_, &scheduler_stack_size_);
}
void SwitchShadow::leaving() {
  __sanitizer_start_switch_fiber(&fiber_frames_, scheduler_stack_, scheduler_stack_size_);
}
void SwitchShadow::leaving_for_good() {
  __sanitizer_start_switch_fiber(nullptr, scheduler_stack_, scheduler_stack_size_);
}
void SwitchShadow::left() { __sanitizer_finish_switch_fiber(scheduler_frames_, nullptr, nullptr); }

void sanitizer_forget_stack(std::span<std::byte> stack) {
  __asan_unpoison_memory_region(stack.data(), stack.size());
}

#elif defined(__SANITIZE_THREAD__)

namespace {

// Handles of fibers that have ended. A new one costs almost a megabyte and about a millisecond, and
// only about 8,000 can exist at a time.
class UsedHandles {
 public:
  ~UsedHandles() {
    for (void* handle : handles_) {
      __tsan_destroy_fiber(handle);
    }
  }
  void* take() {
    if (handles_.empty()) {
      return __tsan_create_fiber(0);
    }
    void* handle = handles_.back();
    handles_.pop_back();
    return handle;
  }
  void give_back(void* handle) { handles_.push_back(handle); }

 private:
  std::vector<void*> handles_;
};

thread_local UsedHandles used_handles;

}  // namespace

void SwitchShadow::create(std::span<std::byte>) { fiber_ = used_handles.take(); }
SwitchShadow::~SwitchShadow() {
  if (fiber_ != nullptr) {
    used_handles.give_back(fiber_);
  }
}

MOTLEY_CHANGES_FIBER void SwitchShadow::entering() {
  scheduler_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(fiber_, 0);
}
void SwitchShadow::entered() {}
MOTLEY_CHANGES_FIBER void SwitchShadow::leaving() { __tsan_switch_to_fiber(scheduler_, 0); }
MOTLEY_CHANGES_FIBER void SwitchShadow::leaving_for_good() {
  __tsan_switch_to_fiber(scheduler_, 0);
}
void SwitchShadow::left() {}

void sanitizer_forget_stack(std::span<std::byte>) {}

#else  // no sanitizer that tracks stacks

void SwitchShadow::create(std::span<std::byte>) {}
SwitchShadow::~SwitchShadow() = default;
void SwitchShadow::entering() {}
void SwitchShadow::entered() {}
void SwitchShadow::leaving() {}
void SwitchShadow::leaving_for_good() {}
void SwitchShadow::left() {}
void sanitizer_forget_stack(std::span<std::byte>) {}

#endif

}  // namespace motley

#endif  // MOTLEY_SANITIZED
