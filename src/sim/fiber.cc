#include "sim/fiber.h"

#include <cxxabi.h>

#include <cstring>
#include <utility>

#include "base/check.h"

namespace motley {
namespace {

// A boost stack allocator that hands out an existing stack.
struct GivenStack {
  boost::context::stack_context stack;
  boost::context::stack_context allocate() { return stack; }
  void deallocate(boost::context::stack_context&) {}
};

}  // namespace

Fiber::Fiber(StackPool& stacks, std::function<void()> body)
    : stacks_(stacks), body_(std::move(body)) {}

Fiber::~Fiber() {
  MOTLEY_CHECK(state_ == State::kNew || state_ == State::kDone, "fiber destroyed before it ended");
}

void Fiber::resume() {
  MOTLEY_CHECK(state_ == State::kNew || state_ == State::kSuspended,
               "cannot be resumed in this state");
  if (state_ == State::kNew) {
    begin();
  }
  state_ = State::kRunning;
  shadow_.entering();
  swap_exception_state();
  inside_ = std::move(inside_).resume();
  swap_exception_state();
  shadow_.left();
  if (inside_) {
    state_ = State::kSuspended;
  } else {
    state_ = State::kDone;
    stacks_.give_back(std::exchange(stack_, {}));
  }
}

void Fiber::suspend() {
  MOTLEY_CHECK(state_ == State::kRunning, "only a running fiber can suspend itself");
  shadow_.leaving();
  outside_ = std::move(outside_).resume();
  shadow_.entered();
}

void Fiber::begin() {
  stack_ = stacks_.take();
  shadow_.create(stack_);
  boost::context::stack_context stack;
  stack.sp = stack_.data() + stack_.size();
  stack.size = stack_.size();
  inside_ = boost::context::fiber(std::allocator_arg, GivenStack{stack},
                                  [this](boost::context::fiber&& outside) {
                                    outside_ = std::move(outside);
                                    shadow_.entered();
                                    run_body();
                                    shadow_.leaving_for_good();
                                    return std::move(outside_);
                                  });
}

void Fiber::run_body() {
  try {
    body_();
    body_ = nullptr;  // destroys captures here, like locals of the body
  } catch (...) {
    error_ = std::current_exception();
  }
}

void Fiber::swap_exception_state() {
  auto* current = abi::__cxa_get_globals();
  ExceptionState saved;
  std::memcpy(&saved, current, sizeof saved);
  std::memcpy(current, &exception_state_, sizeof exception_state_);
  exception_state_ = saved;
}

}  // namespace motley
