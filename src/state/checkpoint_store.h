// CheckpointStore: the checkpoints of a run, RUN/checkpoints/<step>. One writer at a time; others
// may read meanwhile.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "state/checkpoint.h"

namespace motley {

struct ListedCheckpoint {
  std::int64_t step = 0;
  std::filesystem::path path;
  std::optional<double> accuracy;
  std::uint64_t bytes = 0;  // of its files, without state.json
};

struct NewestCheckpoint {
  Checkpoint checkpoint;
  std::filesystem::path path;
  std::vector<std::string> passed_over;  // newer ones that are not whole: what is wrong with each
};

// Which of the checkpoints (newest first) need not stay: all but the newest `count`, the one with
// the best accuracy (of equals the newest) and `written`, the step of the one just written, which
// is not the newest if a run was resumed from an older one. Pure.
std::vector<ListedCheckpoint> superfluous(const std::vector<ListedCheckpoint>& newest_first,
                                          int count, std::int64_t written);

class CheckpointStore {
 public:
  // `directory` is RUN/checkpoints. RUN must exist before something is written.
  CheckpointStore(Files& files, std::filesystem::path directory)
      : files_(&files), directory_(std::move(directory)) {}

  std::filesystem::path path_of(std::int64_t step) const;

  // Newest first. Only those whose state.json is right and whose files have the right sizes; a bit
  // that changed elsewhere is found when a checkpoint is read. Empty if there is no directory.
  Result<std::vector<ListedCheckpoint>> list() const;

  // The newest that is whole, byte by byte. Fails if there is none, and says why.
  Result<NewestCheckpoint> newest() const;

  // Removes what a crash may have left, then writes. As write_checkpoint().
  Status write(const Checkpoint& checkpoint);

  // Removes the superfluous(). Call it after write(). A crash leaves each one whole or hidden.
  // Fails if something cannot be removed, also what a crash has left.
  Status keep(int count, std::int64_t written);

  // Removes those after `step`: for a run that starts again from an older one and would find them
  // the next time.
  Status remove_newer(std::int64_t step);

 private:
  // A directory that has the name of a checkpoint, or a hidden one that was being replaced.
  using Candidate = std::pair<std::int64_t, std::filesystem::path>;

  Result<std::vector<Candidate>> candidates() const;
  // Removes hidden directories. `directory_` must be synced: what has replaced them is there to
  // stay.
  Status clean_up();
  std::error_code clean_up(const std::string& name);
  Status remove(const std::vector<ListedCheckpoint>& checkpoints);

  Files* files_;
  std::filesystem::path directory_;
};

}  // namespace motley
