// RunCheckpoints: the checkpoints of one run, as they come, in RUN/checkpoints. The directory is
// made when the first one comes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "state/checkpoint.h"
#include "state/checkpoint_writer.h"

namespace motley {

inline constexpr const char* kCheckpointsDirectory = "checkpoints";

class RunCheckpoints {
 public:
  // `keep`: see CheckpointStore::keep(). `waits`: each one is on disk before the run goes on. A
  // simulation does so, because it would overtake the disk and then leave some out.
  RunCheckpoints(std::filesystem::path run, int keep, bool waits)
      : run_(std::move(run)), keep_(keep), waits_(waits) {}

  void write(Checkpoint checkpoint);
  // Waits until all are written, or have failed.
  void finish();

  // How many were written, also before the run was resumed.
  std::int64_t written() const { return written_; }
  // The same with those that are not on disk yet, as if nothing went wrong with them.
  std::int64_t expected();
  void go_on_from(std::int64_t written) { written_ = written; }
  // One line for each problem since the last call (state/checkpoint_writer.h).
  std::vector<std::string> take_problems();

 private:
  static constexpr std::int64_t kMostUnderWay = 2;  // the writer holds no more

  void take_news();

  const std::filesystem::path run_;
  const int keep_;
  const bool waits_;
  std::unique_ptr<CheckpointWriter> writer_;
  std::int64_t written_ = 0;
  std::vector<std::int64_t> under_way_;  // steps handed over, in order, and not known to be written
  std::vector<std::string> problems_;
};

}  // namespace motley
