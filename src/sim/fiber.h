// Fiber: a function with a stack of its own, which runs until it suspends itself and goes on where
// it was when resumed.
//
//   Fiber fiber(stacks, [&] { step_one(); fiber.suspend(); step_two(); });
//   fiber.resume();  // step one
//   fiber.resume();  // step two
//   if (fiber.error()) std::rethrow_exception(fiber.error());
//
// Exceptions never cross a switch: one that leaves the function is kept for error(). Each fiber has
// exception handling state of its own, so that it may suspend inside a catch block.
//
// A fiber must run to its end: whoever suspends it for good has to make it return first. One that
// was never resumed may simply be destroyed; it has no stack yet.
//
// Cost: about 10 ns a switch. Thread rule: one thread at a time, the same from begin to end.
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
  // `stacks` outlives the fiber.
  Fiber(StackPool& stacks, std::function<void()> body);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Runs the fiber until it suspends or ends. To be called from outside it, and not when done.
  void resume();
  // Inside the fiber: returns from the resume() under way. Returns at the next one.
  void suspend();

  bool done() const { return state_ == State::kDone; }
  // What left the function; null when it returned or has not ended.
  std::exception_ptr error() const { return error_; }

 private:
  enum class State { kNew, kSuspended, kRunning, kDone };
  // What the C++ runtime keeps per thread (Itanium C++ ABI, 2.2.2), here per fiber.
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
  boost::context::fiber inside_;   // where the fiber goes on, while suspended
  boost::context::fiber outside_;  // where resume() goes on, while running
  ExceptionState exception_state_{};
  SwitchShadow shadow_;
};

}  // namespace motley
