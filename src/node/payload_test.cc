#include "motley/node/payload.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace motley {
namespace {

std::vector<float> values(std::span<const float> floats) { return {floats.begin(), floats.end()}; }

TEST(Payload, EmptyByDefault) {
  const Payload payload;
  EXPECT_EQ(payload.size(), 0U);
  EXPECT_TRUE(payload.bytes().empty());
  EXPECT_FALSE(payload.is_phantom());
  EXPECT_FALSE(payload.is_borrowed());
}

TEST(Payload, ACopyHasBytesOfItsOwn) {
  std::vector<float> floats = {1, 2, 3};
  const Payload payload = Payload::copy_of(std::span<const float>(floats));
  floats = {0, 0, 0};
  EXPECT_EQ(values(payload.floats()), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(payload.size(), 12U);
  EXPECT_FALSE(payload.is_borrowed());
}

TEST(Payload, CopiesOfAPayloadShareTheirBytes) {
  const std::vector<float> floats = {1, 2};
  const Payload payload = Payload::copy_of(std::span<const float>(floats));
  const Payload other = payload;  // NOLINT(performance-unnecessary-copy-initialization)
  EXPECT_EQ(other.bytes().data(), payload.bytes().data());
  EXPECT_EQ(payload.kept().bytes().data(), payload.bytes().data());
}

TEST(Payload, ABorrowedOneIsKeptByCopying) {
  std::vector<float> floats = {1, 2};
  const Payload borrowed = Payload::borrow(floats);
  EXPECT_TRUE(borrowed.is_borrowed());
  EXPECT_EQ(borrowed.floats().data(), floats.data());
  const Payload kept = borrowed.kept();
  floats = {5, 6};
  EXPECT_FALSE(kept.is_borrowed());
  EXPECT_EQ(values(kept.floats()), (std::vector<float>{1, 2}));
}

TEST(Payload, AdoptKeepsTheOwnerAlive) {
  auto owner = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3});
  const std::weak_ptr<std::vector<float>> watch = owner;
  auto payload = Payload::adopt(owner, std::as_bytes(std::span(*owner)));
  owner.reset();
  EXPECT_FALSE(watch.expired());
  auto rest = payload.from(4);
  payload = {};
  EXPECT_EQ(values(rest.floats()), (std::vector<float>{2, 3}));
  rest = {};
  EXPECT_TRUE(watch.expired());
}

TEST(Payload, FromIsTheRest) {
  const std::vector<float> floats = {1, 2, 3};
  const Payload payload = Payload::copy_of(std::span<const float>(floats));
  EXPECT_EQ(payload.from(0).bytes().data(), payload.bytes().data());
  EXPECT_EQ(payload.from(8).floats()[0], 3);
  EXPECT_EQ(payload.from(12).size(), 0U);
  EXPECT_TRUE(Payload::borrow(floats).from(4).is_borrowed());
  EXPECT_DEATH(payload.from(13), "offset 13 in a payload of 12");
}

TEST(Payload, APhantomHasASizeOnly) {
  const Payload payload = Payload::phantom(std::size_t{1} << 40);
  EXPECT_TRUE(payload.is_phantom());
  EXPECT_FALSE(payload.is_borrowed());
  EXPECT_EQ(payload.size(), std::size_t{1} << 40);
  EXPECT_TRUE(payload.bytes().empty());
  EXPECT_TRUE(payload.floats().empty());
  EXPECT_TRUE(payload.kept().is_phantom());
  EXPECT_EQ(payload.from(100).size(), (std::size_t{1} << 40) - 100);
  EXPECT_FALSE(Payload::phantom(0).is_phantom());
}

TEST(BlockPool, BlocksAreUsedAgain) {
  auto block = allocate_block(5000);
  const std::byte* address = block.get();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(address) % 64, 0U);
  block.reset();
  EXPECT_EQ(allocate_block(8192).get(), address) << "same size class, up to 8 KiB";
}

TEST(BlockPool, BlocksInUseAreApart) {
  std::vector<std::shared_ptr<std::byte>> blocks;
  for (int i = 0; i < 100; ++i) {
    blocks.push_back(allocate_block(1000));
    std::fill_n(blocks.back().get(), 1000, static_cast<std::byte>(i));
  }
  for (int i = 0; i < 100; ++i) {
    const std::byte* block = blocks[static_cast<std::size_t>(i)].get();
    EXPECT_EQ(block[0], static_cast<std::byte>(i));
    EXPECT_EQ(block[999], static_cast<std::byte>(i));
  }
  EXPECT_NE(allocate_block(0), nullptr);
}

}  // namespace
}  // namespace motley
