// Fiber: a function with a stack of its own. It runs until it suspends itself, and continues there
// when resumed.
//
//   Fiber fiber(stacks, [&] { step_one(); fiber.suspend(); step_two(); });
//   fiber.resume();  // step one
//   fiber.resume();  // step two
//   if (fiber.error()) std::rethrow_exception(fiber.error());
//
// Exceptions never cross a switch: one that leaves the function is kept for error(). Each fiber has
// its own exception handling state, so it may suspend inside a catch block.
//
// A fiber must run to its end: before destroying a suspended fiber, make its function return. A
// fiber that was never resumed may be destroyed at once; it has no stack yet.
//
// Cost: about 10 ns per switch. Thread rule: one thread, the same from begin to end.
#pragma once

#include <boost/context/fiber.hpp>
#include <cstddef>
#include <exception>
#include <functional>
#include <span>

#include "sim/sanitizer.h"
#include "sim/stack_pool.h"

namespace motley {

class Fiber {
 public:
  // `stacks` must outlive the fiber.
  Fiber(StackPool& stacks, std::function<void()> body);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Runs the fiber until it suspends or ends. Call it from outside the fiber, and not when it is
  // done.
  void resume();
  // Call inside the fiber: the current resume() returns. suspend() returns at the next resume().
  void suspend();

  bool done() const { return state_ == State::kDone; }
  // The exception that left the function; null if it returned or has not ended.
  std::exception_ptr error() const { return error_; }

 private:
  enum class State { kNew, kSuspended, kRunning, kDone };
  // State that the C++ runtime keeps per thread (Itanium C++ ABI, 2.2.2); here it is per fiber.
  struct ExceptionState {
    void* caught;
    unsigned int uncaught;
  };

  void begin();
  void run_body();
  void swap_exception_state();

  StackPool& stacks_;
  std::function<void()> body_;
  std::exception_ptr error_;
  State state_ = State::kNew;
  std::span<std::byte> stack_;
  boost::context::fiber inside_;   // where the fiber continues, while suspended
  boost::context::fiber outside_;  // where resume() continues, while running
  ExceptionState exception_state_{};
  SwitchShadow shadow_;
};

}  // namespace motley
