// Crashes and errors at every call of the file system, while checkpoints are written and removed.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "state/checkpoint_store.h"
#include "state/memory_files.h"
#include "state/sample_checkpoint.h"

namespace motley {
namespace {

const std::filesystem::path kStore = "/run/checkpoints";

// Checkpoints in the order in which they are written: step and attempt. The same step again: the
// run was resumed. An older one: it was resumed from an older checkpoint.
using Plan = std::vector<std::pair<std::int64_t, int>>;
const Plan kPlan = {{100, 0}, {200, 0}, {300, 0}, {300, 1}, {400, 0}, {200, 1}, {400, 1}, {500, 0}};
const Plan kShortPlan = {{100, 0}, {200, 0}, {200, 1}, {300, 0}};

struct CrashSetting {
  int keep = 3;
  bool can_exchange = true;
};
const std::vector<CrashSetting> kSettings = {{1, true},  {1, false}, {2, true},
                                             {2, false}, {3, true},  {3, false}};

// What has the name of a checkpoint.
std::set<std::int64_t> steps_there(MemoryFiles files) {
  files.set_fault({});
  const auto names = files.list(kStore);
  std::set<std::int64_t> steps;
  for (const std::string& name : names ? *names : std::vector<std::string>{}) {
    if (!name.starts_with('.')) {
      steps.insert(std::stoll(name));
    }
  }
  return steps;
}

// A run that writes checkpoints, and what a reader may find if it stops now.
class CrashingRun {
 public:
  CrashingRun(MemoryFiles& files, int keep) : files_(files), store_(files, kStore), keep_(keep) {}

  // Returns what failed. A Crash leaves everything as it was at that moment.
  std::vector<std::string> run(const Plan& plan) {
    for (const auto& [step, attempt] : plan) {
      const Checkpoint checkpoint = sample_checkpoint(step, attempt);
      possible_[step].push_back(checkpoint);
      if (!note(store_.write(checkpoint))) {
        continue;
      }
      possible_[step] = {checkpoint};
      safe_ = steps_there(files_);
      removing_ = step;
      note(store_.keep(keep_, step));
      removing_.reset();
      const auto there = steps_there(files_);
      std::erase_if(safe_, [&](std::int64_t each) { return !there.contains(each); });
    }
    return failures_;
  }

  // The contents that the checkpoint of a step may have: several while one is being replaced.
  bool is_possible(const Checkpoint& found) const {
    const auto contents = possible_.find(found.step);
    return contents != possible_.end() && std::ranges::count(contents->second, found) > 0;
  }

  // Those that must survive: all, or, while some are being removed, the newest and the best.
  std::set<std::int64_t> survivors() const {
    std::set<std::int64_t> steps = safe_;
    std::vector<ListedCheckpoint> newest_first;
    for (const std::int64_t step : steps) {
      newest_first.insert(newest_first.begin(), {step, {}, sample_checkpoint(step).accuracy, 0});
    }
    if (removing_) {
      for (const ListedCheckpoint& each : superfluous(newest_first, keep_, *removing_)) {
        steps.erase(each.step);
      }
    }
    return steps;
  }

 private:
  bool note(const Status& status) {
    if (!status) {
      failures_.push_back(status.error().message);
    }
    return status.has_value();
  }

  MemoryFiles& files_;
  CheckpointStore store_;
  const int keep_;
  std::map<std::int64_t, std::vector<Checkpoint>> possible_;
  std::set<std::int64_t> safe_;
  std::optional<std::int64_t> removing_;  // the step that was written before
  std::vector<std::string> failures_;
};

void expect_whole(MemoryFiles& files, const CrashingRun& run) {
  const CheckpointStore store(files, kStore);
  const auto listed = store.list();
  ASSERT_TRUE(listed);
  std::set<std::int64_t> steps;
  for (const ListedCheckpoint& each : *listed) {
    const auto found = read_checkpoint(files, each.path);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_TRUE(run.is_possible(*found)) << each.step << " is not what was written";
    steps.insert(each.step);
  }
  EXPECT_TRUE(std::ranges::includes(steps, steps_there(files))) << "not all that is there is whole";
  for (const std::int64_t step : run.survivors()) {
    EXPECT_TRUE(steps.contains(step)) << step << " is lost";
  }
  const auto newest = store.newest();
  ASSERT_EQ(newest.has_value(), !steps.empty());
  if (newest) {
    EXPECT_EQ(newest->checkpoint.step, *steps.rbegin());
    EXPECT_TRUE(newest->passed_over.empty()) << newest->passed_over.front();
  }
}

// The next run works, and removes what was left over.
void expect_goes_on(MemoryFiles& files, int keep) {
  CheckpointStore store(files, kStore);
  ASSERT_TRUE(store.write(sample_checkpoint(1000)));
  ASSERT_TRUE(store.keep(keep, 1000));
  const auto names = files.list(kStore);
  for (const std::string& name : *names) {
    EXPECT_FALSE(name.starts_with('.')) << name;
  }
  MemoryFiles later = files.crashed(MemoryFiles::Luck::kNothingIsLeft, 0);
  const auto newest = CheckpointStore(later, kStore).newest();
  ASSERT_TRUE(newest) << newest.error().message;
  EXPECT_EQ(newest->checkpoint, sample_checkpoint(1000));
}

// What a crash at this moment may leave.
void crash_now(const MemoryFiles& files, const CrashingRun& run, int keep, int seed) {
  using Luck = MemoryFiles::Luck;
  for (const Luck luck : {Luck::kKilled, Luck::kNothingIsLeft, Luck::kRandom}) {
    MemoryFiles after = files.crashed(luck, static_cast<std::uint64_t>(seed));
    expect_whole(after, run);
    if (luck == (seed % 2 == 0 ? Luck::kKilled : Luck::kRandom)) {
      expect_goes_on(after, keep);
    }
  }
}

bool is_reading(std::string_view call) {
  return call == "list" || call == "size" || call == "read";
}

// Crashes after every call that changes something. Returns the number of crashes.
int crash_everywhere(const CrashSetting& setting) {
  MemoryFiles files;
  files.set_can_exchange(setting.can_exchange);
  CrashingRun run(files, setting.keep);
  int crashes = 0;
  std::string before = "make_directory";
  files.set_fault([&](std::string_view call) {
    if (!is_reading(std::exchange(before, call))) {
      SCOPED_TRACE(fmt::format("crash {} before {}, keep {}, exchange {}", crashes, call,
                               setting.keep, setting.can_exchange));
      crash_now(files, run, setting.keep, crashes++);
    }
    return std::error_code{};
  });
  EXPECT_TRUE(run.run(kPlan).empty());
  return crashes;
}

TEST(CheckpointCrash, AtEveryCallTheNewestWholeOneIsFound) {
  int crashes = 0;
  for (const CrashSetting& setting : kSettings) {
    crashes += crash_everywhere(setting);
  }
  RecordProperty("crashes", crashes);
  EXPECT_GT(crashes, 1'000);
}

// The alarm rings: without the sync of files, crashes do lose checkpoints.
TEST(CheckpointCrash, AMissingSyncIsNoticed) {
  MemoryFiles files;
  ASSERT_FALSE(files.make_directory("/run/checkpoints"));
  ASSERT_FALSE(files.make_directory("/run/checkpoints/1"));
  auto file = files.create("/run/checkpoints/1/state.json");
  ASSERT_FALSE((*file)->write(bytes_of_text("text")));
  ASSERT_FALSE(files.sync_directory("/run/checkpoints/1"));
  using Luck = MemoryFiles::Luck;
  EXPECT_FALSE(files.crashed(Luck::kNothingIsLeft, 1).list("/run/checkpoints"));
  ASSERT_FALSE(files.sync_directory("/run"));
  EXPECT_TRUE(files.crashed(Luck::kNothingIsLeft, 1).list("/run/checkpoints")->empty());
  ASSERT_FALSE(files.sync_directory("/run/checkpoints"));
  const auto size = [&] {
    return *files.crashed(Luck::kNothingIsLeft, 1).size("/run/checkpoints/1/state.json");
  };
  EXPECT_EQ(size(), 0U);
  ASSERT_FALSE((*file)->sync());
  EXPECT_EQ(size(), 4U);
}

// A call fails, and those after it, as many as given; then the disk works again. Returns the number
// of calls.
int error_at(int call, int times, std::errc code, const CrashSetting& setting) {
  SCOPED_TRACE(fmt::format("error at call {}, {} times, keep {}, exchange {}", call, times,
                           setting.keep, setting.can_exchange));
  MemoryFiles files;
  files.set_can_exchange(setting.can_exchange);
  CrashingRun run(files, setting.keep);
  int calls = 0;
  bool is_harmless = true;  // a file cannot be looked at, or not be removed yet
  files.set_fault([&](std::string_view name) {
    const bool fails = calls >= call && calls < call + times;
    ++calls;
    if (fails && name != "remove" && !is_reading(name)) {
      is_harmless = false;
    }
    return fails ? std::make_error_code(code) : std::error_code{};
  });
  const auto failures = run.run(kShortPlan);
  EXPECT_TRUE(is_harmless || !failures.empty());
  for (const std::string& failure : failures) {
    EXPECT_NE(failure.find(std::make_error_code(code).message()), std::string::npos) << failure;
    EXPECT_EQ(failure.find('\n'), std::string::npos) << failure;
  }
  files.set_fault({});
  expect_whole(files, run);
  MemoryFiles after = files.crashed(MemoryFiles::Luck::kRandom, static_cast<std::uint64_t>(call));
  expect_whole(after, run);
  expect_goes_on(files, setting.keep);
  return calls;
}

TEST(CheckpointCrash, AfterAnErrorOfAnyCallTheEarlierOnesAreThere) {
  for (const CrashSetting& setting : {CrashSetting{1, false}, CrashSetting{3, true}}) {
    int calls = 1;
    for (int call = 0; call < calls && !testing::Test::HasFailure(); ++call) {
      calls = error_at(call, 1, std::errc::io_error, setting);
      error_at(call, 60, std::errc::no_space_on_device, setting);
    }
    EXPECT_GT(calls, 100);
  }
}

}  // namespace
}  // namespace motley
