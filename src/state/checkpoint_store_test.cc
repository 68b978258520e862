#include "state/checkpoint_store.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "state/memory_files.h"
#include "state/sample_checkpoint.h"

namespace motley {
namespace {

const std::filesystem::path kCheckpoints = "/run/checkpoints";

std::vector<std::int64_t> steps_of(const std::vector<ListedCheckpoint>& listed) {
  std::vector<std::int64_t> steps;
  for (const ListedCheckpoint& each : listed) {
    steps.push_back(each.step);
  }
  return steps;
}

std::vector<std::int64_t> steps_in(const CheckpointStore& store) {
  const auto listed = store.list();
  return listed ? steps_of(*listed) : std::vector<std::int64_t>{-1};
}

void write_steps(CheckpointStore& store, std::initializer_list<std::int64_t> steps) {
  for (const std::int64_t step : steps) {
    const Status status = store.write(sample_checkpoint(step));
    ASSERT_TRUE(status) << status.error().message;
  }
}

using Steps = std::vector<std::int64_t>;

TEST(CheckpointStore, WithoutADirectoryThereIsNone) {
  MemoryFiles files;
  const CheckpointStore store(files, kCheckpoints);
  EXPECT_EQ(steps_in(store), Steps{});
  EXPECT_EQ(store.newest().error().message, "/run/checkpoints: there is no checkpoint");
}

TEST(CheckpointStore, ListsThemNewestFirst) {
  MemoryFiles files;
  CheckpointStore store(files, kCheckpoints);
  write_steps(store, {900, 0, 1000, 50});
  EXPECT_EQ(steps_in(store), (Steps{1000, 900, 50, 0}));
  EXPECT_EQ(store.list()->front().path, kCheckpoints / "1000");
  EXPECT_GT(store.list()->front().bytes, 24U);
  const auto newest = store.newest();
  ASSERT_TRUE(newest);
  EXPECT_EQ(newest->checkpoint, sample_checkpoint(1000));
  EXPECT_EQ(newest->path, kCheckpoints / "1000");
  EXPECT_TRUE(newest->passed_over.empty());
}

TEST(CheckpointStore, PassesOverWhatIsNotWholeAndSaysSo) {
  MemoryFiles files;
  CheckpointStore store(files, kCheckpoints);
  write_steps(store, {100, 200, 300});
  files.contents(kCheckpoints / "300/tensors.safetensors").back() ^= std::byte{1};
  ASSERT_FALSE(files.rename(kCheckpoints / "200", kCheckpoints / "400"));
  for (const char* name : {"notes", "500", "0100", "-7", "99999999999999999999", ".600.tmp"}) {
    ASSERT_FALSE(files.make_directory(kCheckpoints / name));
  }
  const auto newest = store.newest();
  ASSERT_TRUE(newest);
  EXPECT_EQ(newest->checkpoint, sample_checkpoint(100));
  EXPECT_EQ(newest->passed_over,
            (std::vector<std::string>{
                "/run/checkpoints/500/state.json: cannot be read: No such file or directory",
                "/run/checkpoints/400: is the checkpoint of step 200",
                "/run/checkpoints/300/tensors.safetensors: is damaged: its checksum is wrong"}));
  EXPECT_EQ(steps_in(store), (Steps{300, 100}));  // looks at sizes only
}

TEST(CheckpointStore, SaysWhyNoneIsWhole) {
  MemoryFiles files;
  CheckpointStore store(files, kCheckpoints);
  write_steps(store, {100});
  ASSERT_FALSE(files.remove(kCheckpoints / "100/own.bin"));
  EXPECT_EQ(store.newest().error().message,
            "/run/checkpoints: no checkpoint is whole: /run/checkpoints/100/own.bin: "
            "cannot be read: No such file or directory");
}

TEST(CheckpointStore, KeepsTheNewestAndTheBest) {
  MemoryFiles files;
  CheckpointStore store(files, kCheckpoints);
  write_steps(store, {1, 2, 3, 4, 5, 6, 7});  // 7 is the accuracy of 1; 0.9 that of 7
  ASSERT_TRUE(store.keep(2, 7));
  EXPECT_EQ(steps_in(store), (Steps{7, 6}));
  write_steps(store, {8, 9, 10});
  ASSERT_TRUE(store.keep(2, 10));
  EXPECT_EQ(steps_in(store), (Steps{10, 9, 7}));
  EXPECT_EQ(files.list(kCheckpoints)->size(), 3U);
}

TEST(CheckpointStore, LeavesWhatIsForeignAlone) {
  MemoryFiles files;
  CheckpointStore store(files, kCheckpoints);
  write_steps(store, {100});
  for (const char* name : {"50", "60", "mine", ".hidden", ".tmp", ".a.tmp"}) {
    ASSERT_FALSE(files.make_directory(kCheckpoints / name));
    files.put(kCheckpoints / name / "file", {});
  }
  write_steps(store, {200});
  ASSERT_TRUE(store.keep(1, 200));
  EXPECT_EQ(files.list(kCheckpoints)->size(), 6U + 1 + 1);  // 100 is the best
}

TEST(CheckpointStore, RemovesTheNewerOnes) {
  MemoryFiles files;
  CheckpointStore store(files, kCheckpoints);
  write_steps(store, {100, 200, 300, 400});
  ASSERT_TRUE(store.remove_newer(200));
  EXPECT_EQ(steps_in(store), (Steps{200, 100}));
}

TEST(CheckpointStore, TheOneJustWrittenStaysIfItIsNotTheNewest) {
  MemoryFiles files;
  CheckpointStore store(files, kCheckpoints);
  write_steps(store, {300, 400, 500, 200});
  ASSERT_TRUE(store.keep(1, 200));
  EXPECT_EQ(steps_in(store).front(), 500);
  EXPECT_TRUE(std::ranges::count(steps_in(store), 200));
}

TEST(CheckpointStore, LeftoversGoWithTheNextWrite) {
  MemoryFiles files;
  CheckpointStore store(files, kCheckpoints);
  write_steps(store, {100, 200, 300});
  ASSERT_FALSE(files.rename(kCheckpoints / "100", kCheckpoints / ".100.gone"));
  ASSERT_FALSE(files.rename(kCheckpoints / "200", kCheckpoints / ".200.old"));
  ASSERT_FALSE(files.make_directory(kCheckpoints / ".400.tmp"));
  EXPECT_EQ(steps_in(store), (Steps{300, 200}));
  write_steps(store, {400});
  auto names = *files.list(kCheckpoints);
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{"200", "300", "400"}));
}

std::vector<ListedCheckpoint> any_list(const std::set<std::int64_t, std::greater<>>& steps,
                                       const std::vector<int>& accuracies) {
  std::vector<ListedCheckpoint> list;
  for (const std::int64_t step : steps) {
    const bool has = list.size() < accuracies.size() && accuracies[list.size()] % 3 != 0;
    list.push_back({step, {}, std::nullopt, 0});
    if (has) {
      list.back().accuracy = accuracies[list.size() - 1] % 5;
    }
  }
  return list;
}

RC_GTEST_PROP(CheckpointStore, WhatIsSuperfluousIsNeitherNewNorBest,
              (const std::vector<int>& accuracies)) {
  const auto steps = *rc::gen::container<std::set<std::int64_t, std::greater<>>>(
      rc::gen::inRange<std::int64_t>(0, 50));
  const int count = *rc::gen::inRange(1, 6);
  const auto list = any_list(steps, accuracies);
  const std::int64_t written = list.empty() ? 0 : *rc::gen::elementOf(steps);
  const Steps removed = steps_of(superfluous(list, count, written));
  const auto is_removed = [&](std::int64_t step) { return std::ranges::count(removed, step) > 0; };
  RC_ASSERT(!is_removed(written));
  // At most `count`, the best and the one just written stay.
  RC_ASSERT(list.size() - removed.size() <= static_cast<std::size_t>(count) + 2);
  std::optional<double> best;
  std::optional<double> best_left;
  for (std::size_t i = 0; i < list.size(); ++i) {
    RC_ASSERT(i >= static_cast<std::size_t>(count) || !is_removed(list[i].step));
    best = std::max(best, list[i].accuracy);
    best_left = is_removed(list[i].step) ? best_left : std::max(best_left, list[i].accuracy);
  }
  RC_ASSERT(best == best_left);
}

}  // namespace
}  // namespace motley
