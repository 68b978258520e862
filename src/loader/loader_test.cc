#include "loader/loader.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>

#include "tests/step_ratio.h"

namespace motley {
namespace {

using Numbers = std::vector<SampleIndex>;

void nap(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

// The share of step k.
Numbers step(SampleIndex k) { return {4 * k, 4 * k + 1, 4 * k + 2, 4 * k + 3}; }

Loaded as_loaded(Numbers numbers) { return std::make_shared<Numbers>(std::move(numbers)); }
Numbers as_numbers(const Loaded& loaded) { return *std::static_pointer_cast<Numbers>(loaded); }

// Each sample is a vector of its index.
BatchSource one_by_one() {
  return {.fetch =
              [](std::span<const SampleIndex> samples) {
                std::vector<Loaded> all;
                for (const SampleIndex sample : samples) {
                  all.push_back(as_loaded({sample}));
                }
                return all;
              },
          .collate =
              [](const std::vector<Loaded>& samples) {
                Numbers batch;
                for (const Loaded& sample : samples) {
                  batch.push_back(as_numbers(sample).front());
                }
                return as_loaded(batch);
              }};
}

BatchSource whole() {
  return {.whole = [](std::span<const SampleIndex> samples) {
    return as_loaded({samples.begin(), samples.end()});
  }};
}

TEST(Loader, DeliversWhatBegins) {
  for (const bool by_sample : {true, false}) {
    for (const int threads : {1, 2, 5}) {
      Loader loader(by_sample ? one_by_one() : whole(), threads, [](std::size_t) { return 2U; });
      for (SampleIndex k = 0; k < 200; ++k) {
        loader.expect({step(k + 1), step(k + 2 + k % 2)});  // every other one is wrong
        loader.begin(step(k));
        EXPECT_EQ(as_numbers(loader.take()), Numbers({4 * k, 4 * k + 1}));
        EXPECT_EQ(as_numbers(loader.take()), Numbers({4 * k + 2, 4 * k + 3}));
      }
    }
  }
}

// As a worker at its own pace hears of its next share.
TEST(Loader, ForecastsMayComeFromAnotherThread) {
  Loader loader(one_by_one(), 2);
  std::atomic<bool> over = false;
  std::thread forecaster([&] {
    for (SampleIndex k = 0; !over; ++k) {
      loader.expect({step(k % 100)});
    }
  });
  for (SampleIndex k = 0; k < 200; ++k) {
    loader.begin(step(k));
    EXPECT_EQ(as_numbers(loader.take()), step(k));
  }
  over = true;
  forecaster.join();
}

TEST(Loader, WhatTheSourceThrowsComesWithItsBatch) {
  BatchSource source = whole();
  source.whole = [good = source.whole](std::span<const SampleIndex> samples) {
    return samples.front() == 8 ? throw std::runtime_error("sample 8 is damaged") : good(samples);
  };
  Loader loader(source, 2);
  for (SampleIndex k = 0; k < 2; ++k) {
    loader.expect({step(k + 1), step(k + 2)});
    loader.begin(step(k));
    EXPECT_EQ(as_numbers(loader.take()), step(k));
  }
  loader.begin(step(2));
  try {
    loader.take();
    FAIL() << "the exception is lost";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "sample 8 is damaged");
  }
}

TEST(Loader, ASourceThatForgetsASampleIsReported) {
  BatchSource source = one_by_one();
  source.fetch = [](std::span<const SampleIndex>) { return std::vector<Loaded>{as_loaded({1})}; };
  Loader loader(source, 1);
  loader.begin(step(0));
  EXPECT_THROW(loader.take(), std::runtime_error);
}

// Also when calls are under way whose results nobody wants any more.
TEST(Loader, NothingRunsWhenItIsGone) {
  std::atomic<int> under_way = 0;
  {
    Loader loader({.whole =
                       [&](std::span<const SampleIndex>) {
                         ++under_way;
                         nap(5);
                         --under_way;
                         return as_loaded({});
                       }},
                  3);
    loader.expect({step(1), step(2), step(3)});
    loader.begin(step(0));
    loader.take();
  }
  EXPECT_EQ(under_way, 0);
}

// Both take 8 ms of sleep, so the ratio does not depend on how busy the machine is. One by one,
// each sample takes 2 ms.
TEST(Loader, AStepTakesAsLongAsTheLongerOfFetchingAndComputing) {
  constexpr int kSteps = 25;
  constexpr int kNap = 8;
  BatchSource slow_whole{.whole = [](std::span<const SampleIndex>) {
    nap(kNap);
    return as_loaded({});
  }};
  BatchSource slow_samples = one_by_one();
  slow_samples.fetch = [fetch = slow_samples.fetch](std::span<const SampleIndex> samples) {
    nap(kNap / 4 * static_cast<int>(samples.size()));
    return fetch(samples);
  };
  for (const BatchSource& source : {slow_whole, slow_samples}) {
    Loader loader(source, 2);
    StepRatio ratio;
    for (SampleIndex k = 0; k < kSteps; ++k) {
      loader.expect({step(k + 1), step(k + 2)});
      loader.begin(step(k));
      loader.take();
      ratio.begins();
      nap(kNap);
      ratio.computed();
    }
    EXPECT_LT(ratio.best(), 1.1);
  }
}

}  // namespace
}  // namespace motley
