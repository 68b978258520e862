#include "sim/fiber.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace motley {
namespace {

TEST(Fiber, GoesOnWhereItSuspended) {
  StackPool stacks;
  std::string trace;
  std::unique_ptr<Fiber> fiber;
  fiber = std::make_unique<Fiber>(stacks, [&] {
    trace += 'a';
    fiber->suspend();
    trace += 'b';
  });
  fiber->resume();
  trace += '1';
  EXPECT_FALSE(fiber->done());
  fiber->resume();
  EXPECT_TRUE(fiber->done());
  EXPECT_EQ(trace, "a1b");
  EXPECT_FALSE(fiber->error());
}

TEST(Fiber, KeepsTheExceptionThatLeftItsBody) {
  StackPool stacks;
  Fiber fiber(stacks, [] { throw std::runtime_error("broken"); });
  fiber.resume();
  ASSERT_TRUE(fiber.done());
  EXPECT_THROW(std::rethrow_exception(fiber.error()), std::runtime_error);
}

TEST(Fiber, MayBeDestroyedBeforeItBegan) {
  StackPool stacks;
  auto captured = std::make_shared<int>(0);
  {
    Fiber fiber(stacks, [captured] {});
  }
  EXPECT_EQ(captured.use_count(), 1);
}

TEST(Fiber, WhatTheBodyCapturedDiesWithIt) {
  StackPool stacks;
  auto captured = std::make_shared<int>(0);
  Fiber fiber(stacks, [captured] {});
  fiber.resume();
  EXPECT_EQ(captured.use_count(), 1);
}

// Each has an exception in flight while the other throws, catches and rethrows.
TEST(Fiber, TwoMaySuspendInsideCatchBlocks) {
  StackPool stacks;
  std::array<std::unique_ptr<Fiber>, 2> fibers;
  std::array<std::string, 2> caught;
  for (std::size_t i = 0; i < 2; ++i) {
    fibers[i] = std::make_unique<Fiber>(stacks, [&, i] {
      try {
        try {
          throw std::runtime_error("fiber " + std::to_string(i));
        } catch (const std::exception&) {
          fibers[i]->suspend();
          EXPECT_EQ(std::uncaught_exceptions(), 0);
          throw;
        }
      } catch (const std::exception& e) {
        fibers[i]->suspend();
        caught[i] = e.what();
      }
    });
  }
  for (int round = 0; round < 3; ++round) {
    fibers[0]->resume();
    fibers[1]->resume();
  }
  EXPECT_TRUE(fibers[0]->done() && fibers[1]->done());
  EXPECT_EQ(caught[0], "fiber 0");
  EXPECT_EQ(caught[1], "fiber 1");
}

TEST(Fiber, MayRunAnotherFiber) {
  StackPool stacks;
  int depth = 0;
  Fiber outer(stacks, [&] {
    Fiber inner(stacks, [&] {
      depth = 2;
      throw std::runtime_error("inner");
    });
    inner.resume();
    std::rethrow_exception(inner.error());
  });
  outer.resume();
  EXPECT_EQ(depth, 2);
  EXPECT_THROW(std::rethrow_exception(outer.error()), std::runtime_error);
}

TEST(Fiber, HasRoomForMostOfItsStack) {
  StackPool stacks;
  bool used = false;
  Fiber fiber(stacks, [&] {
    std::array<volatile char, 48 << 10> room;
    for (std::size_t i = 0; i < room.size(); i += 512) {
      room[i] = 1;
    }
    used = room[512] == 1;
  });
  fiber.resume();
  EXPECT_TRUE(used);
}

TEST(StackPool, GivesAFinishedFibersStackToTheNext) {
  StackPool stacks;
  std::vector<void*> addresses;
  for (int i = 0; i < 3; ++i) {
    Fiber fiber(stacks, [&] {
      int local = 0;
      addresses.push_back(&local);
    });
    fiber.resume();
  }
  EXPECT_EQ(addresses[0], addresses[1]);
  EXPECT_EQ(addresses[0], addresses[2]);
}

TEST(StackPool, HasMoreStacksThanGuards) {
  StackPool stacks;
  std::vector<std::span<std::byte>> taken;
  for (std::size_t i = 0; i < StackPool::kGuarded + 100; ++i) {
    taken.push_back(stacks.take());
    taken.back().back() = std::byte{1};
  }
  EXPECT_EQ(taken.back().size(), StackPool::kStackBytes);
  EXPECT_EQ(taken.front().back(), std::byte{1});
}

#if !defined(MOTLEY_SANITIZED)
TEST(StackPoolDeathTest, RunningOverTheEndFaults) {
  StackPool stacks;
  EXPECT_DEATH(*(stacks.take().data() - 1) = std::byte{1}, "");
}
#endif

}  // namespace
}  // namespace motley
