#include "motley/sync/replica.h"

#include <gtest/gtest.h>

#include "tests/still_models.h"
#include "tests/toy_task.h"

namespace motley::replica_test {
namespace {

using In = TensorInfo::In;

TEST(TensorInfo, HasAsManyNumbersAsItsShapeSays) {
  EXPECT_EQ((TensorInfo{.name = "fc1.weight", .shape = {128, 784}}).size(), 128U * 784U);
  EXPECT_EQ((TensorInfo{.name = "scale", .shape = {}}).size(), 1U) << "a single number";
  EXPECT_EQ((TensorInfo{.name = "none", .shape = {0, 3}}).size(), 0U);
}

TEST(TensorInfo, IsDescribedInALine) {
  const std::vector<TensorInfo> tensors{
      {.name = "fc1.weight", .shape = {128, 784}},
      {.name = "fc1.bias", .shape = {128}, .offset = std::size_t{128} * 784},
      {.name = "bn.running_mean", .shape = {128}, .in = In::kBuffers}};
  EXPECT_EQ(describe(tensors), "fc1.weight 128x784\nfc1.bias 128\nbn.running_mean 128\n");
}

TEST(Replica, APhantomIsOneTensor) {
  PhantomReplica phantom(1'000);
  EXPECT_EQ(phantom.tensors(), (std::vector<TensorInfo>{{.name = "parameters", .shape = {1'000}}}));
}

TEST(Replica, OneThatDoesNotSayIsATensorForEachBlock) {
  AveragedReplica replica(50, 1, 0);
  EXPECT_EQ(replica.tensors(),
            (std::vector<TensorInfo>{{.name = "parameters", .shape = {50}},
                                     {.name = "buffers", .shape = {7}, .in = In::kBuffers}}));
}

TEST(Replica, TheToyKnowsItsTensor) {
  ToyTask toy(10, 20, 1, 0.1);
  EXPECT_EQ(toy.make_replica()->tensors(),
            (std::vector<TensorInfo>{{.name = "linear.weight", .shape = {1, 20}}}));
}

}  // namespace
}  // namespace motley::replica_test
