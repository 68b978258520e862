// A message allocates nothing besides its payload. All allocations of this program are counted.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "motley/sync/hop.h"
#include "node/mailbox.h"
#include "sim/cluster.h"
#include "sync/hop/token_queue.h"
#include "sync/hop/update_queue.h"
#include "sync/loop.h"
#include "sync/weighted_mean.h"
#include "tests/simulated_job.h"
#include "tests/still_models.h"

namespace {

std::int64_t allocated = 0;
std::size_t allocated_bytes = 0;

void* counted(void* memory, std::size_t size) {
  ++allocated;
  allocated_bytes += size;
  return memory ? memory : throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return counted(std::malloc(size), size); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto align = static_cast<std::size_t>(alignment);
  return counted(std::aligned_alloc(align, (size + align - 1) / align * align), size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace motley {
namespace {

TEST(Allocations, QueuesAllocateOnce) {
  constexpr std::size_t kSenders = 3;
  std::vector<float> own(5'000, 1.0F);
  const Payload model = Payload::copy_of(std::span<const float>(own));
  UpdateQueue updates(kSenders, 4);
  TokenQueue tokens(5);
  std::vector<WeightedModel> models;
  models.reserve(kSenders);
  const std::int64_t before = allocated;
  for (std::int64_t k = 0; k < 1'000; ++k) {
    for (std::size_t sender = 0; sender < kSenders; ++sender) {
      updates.enqueue(model, k, sender);
    }
    tokens.insert(1);
    models.clear();
    for (const UpdateQueue::Update* update : updates.collect(k, 0)) {
      models.push_back({update->model.floats()});
    }
    weighted_mean({own.data(), own.size()}, 1, models);
    updates.release(k, 0);
    tokens.remove(1);
  }
  EXPECT_EQ(allocated - before, 0);
}

TEST(Allocations, AMailboxKeepsItsMemory) {
  Mailbox mailbox;
  const auto pass = [&](int messages) {
    for (int i = 0; i < messages; ++i) {
      mailbox.put({i % 3, Channel::kMethod, {}, {}});
      if (i >= 20) {
        mailbox.take({Channel::kMethod, (i + 1) % 3});
      }
    }
    while (mailbox.size() > 0) {
      mailbox.take({Channel::kMethod});
    }
  };
  pass(1'000);
  const std::int64_t before = allocated;
  pass(10'000);
  EXPECT_EQ(allocated - before, 0);
}

TEST(Allocations, AnyDataSetTakesTheMemoryOfAStep) {
  constexpr std::int64_t kBillion = 1'000'000'000;
  const std::size_t before = allocated_bytes;
  Ledger ledger({.dataset = kBillion, .batch = 1'024, .limit = 2 * kBillion, .seed = 1});
  for (const std::int64_t used : {std::int64_t{0}, kBillion - 10, kBillion + 77}) {
    ledger.samples(ledger.step_after(used));
  }
  EXPECT_LE(allocated_bytes - before, 1'024 * sizeof(SampleIndex));
}

constexpr int kWorkers = 6;

// Allocations in a whole simulated run, per iteration of a worker once it is going.
double allocated_per_iteration(Job job, std::int64_t iterations) {
  const auto allocated_in = [&](std::int64_t steps) {
    job.train.steps = steps;
    Models models = still_models(kWorkers, 1'000, 1);
    SimCluster cluster(job.cluster);
    start_all(cluster, job, 100, models);
    const std::int64_t before = allocated;
    cluster.run();
    return allocated - before;
  };
  const std::int64_t more = allocated_in(3 * iterations) - allocated_in(iterations);
  return static_cast<double>(more) / static_cast<double>(2 * iterations * kWorkers);
}

// A run of ten steps, with all that it does besides dealing samples.
std::size_t bytes_of_a_run(std::int64_t samples) {
  const Job job = simulated_job("all_reduce", equal_speeds(kWorkers), 64, 10);
  Models models = still_models(kWorkers, 1'000, 1);
  SimCluster cluster(job.cluster);
  start_all(cluster, job, samples, models);
  const std::size_t before = allocated_bytes;
  cluster.run();
  return allocated_bytes - before;
}

TEST(Allocations, ARunOfABillionSamplesTakesTheMemoryOfASmallOne) {
  bytes_of_a_run(10'000);  // the first of a process allocates what later ones find
  EXPECT_EQ(bytes_of_a_run(1'000'000'000), bytes_of_a_run(10'000));
}

double allocated_per_iteration_of_hop(GraphKind graph, HopMode mode) {
  Job job = simulated_job("hop", equal_speeds(kWorkers), kWorkers, 1);
  job.strategy.of<HopOptions>().graph = graph;
  job.strategy.of<HopOptions>().mode = mode;
  job.strategy.of<HopOptions>().max_gap = 3;
  job.cluster.slowdowns = {{0.2, 4}};
  return allocated_per_iteration(job, 1'000);
}

// A worker makes one payload of its model, however many neighbours get it, and one for its request
// of samples, and gets one in answer; tokens and acknowledgements have none. The rest is not for
// messages: estimates of a worker's speed.
TEST(Allocations, AnIterationOfHopAllocatesItsPayloadsHoweverManyMessages) {
  for (const HopMode mode :
       {HopMode::kStandard, HopMode::kBackup, HopMode::kStaleness, HopMode::kNotifyAck}) {
    const double few = allocated_per_iteration_of_hop(GraphKind::kRing, mode);
    EXPECT_GT(few, 2.9) << static_cast<int>(mode);  // otherwise they are not being counted
    EXPECT_LT(few, 3.5) << static_cast<int>(mode);
    EXPECT_NEAR(allocated_per_iteration_of_hop(GraphKind::kComplete, mode), few, 0.05)
        << static_cast<int>(mode);
  }
}

// A worker makes a payload for each other worker's chunk, and one of its own sum, whoever gets it.
TEST(Allocations, ASumInACodecAllocatesItsPayloads) {
  for (const CodecKind codec :
       {CodecKind::kFp16, CodecKind::kBf16, CodecKind::kInt8, CodecKind::kTopk}) {
    Job job = simulated_job("all_reduce", equal_speeds(kWorkers), 100, 1);  // no step is short
    job.strategy.adaptive.window = 1'000'000;  // and no speed is estimated
    job.strategy.codec = codec;
    EXPECT_NEAR(allocated_per_iteration(job, 100), kWorkers, 0.1) << static_cast<int>(codec);
  }
}

}  // namespace
}  // namespace motley
