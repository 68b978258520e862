// CheckpointWriter: writes checkpoints in a thread of its own, one at a time.
//
//   CheckpointWriter writer(CheckpointStore(real_files(), run / "checkpoints"), keep);
//   writer.write(std::move(checkpoint));         // at once; training goes on
//   for (const std::string& problem : writer.take_news().problems) ...
//   writer.finish();
//
// If a checkpoint comes while another waits for the disk, it replaces the waiting one. So there are
// never more than two in memory, besides the one that the caller makes.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "state/checkpoint.h"
#include "state/checkpoint_store.h"

namespace motley {

// Since it was asked for the last time.
struct CheckpointNews {
  std::vector<std::int64_t> written;  // steps, in the order in which they became whole
  // One line for each that is new. A problem that goes on is said once; one that comes back after a
  // checkpoint was written is said again.
  std::vector<std::string> problems;
};

class CheckpointWriter {
 public:
  // `keep`: see CheckpointStore::keep().
  CheckpointWriter(CheckpointStore store, int keep);
  // As finish().
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // Never waits for the disk. Any thread.
  void write(Checkpoint checkpoint);
  CheckpointNews take_news();
  // Waits until what was handed over is written, or has failed.
  void finish();

 private:
  // A problem that may go on for a while.
  class Trouble {
   public:
    // True if it is new.
    bool begins() { return !std::exchange(goes_on_, true); }
    void ends() { goes_on_ = false; }

   private:
    bool goes_on_ = false;
  };

  void run();
  Status try_to_write(const Checkpoint& checkpoint);
  void write_one(const Checkpoint& checkpoint);
  void note(Trouble& trouble, const Status& status);

  CheckpointStore store_;
  const int keep_;

  std::mutex mutex_;  // guards all that follows
  std::condition_variable changed_;
  std::optional<Checkpoint> waiting_;
  bool is_writing_ = false;
  bool is_ending_ = false;
  CheckpointNews news_;
  Trouble failure_;
  Trouble removal_;
  Trouble slowness_;

  std::thread thread_;  // last: it uses the others
};

}  // namespace motley
