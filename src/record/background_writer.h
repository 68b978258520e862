// BackgroundWriter: writes to files in a thread of its own, one change after the other, so that a
// disk or a terminal that stalls does not stop the thread that watches a run.
//
//   BackgroundWriter writer(BackgroundWriter::WhenFull::kLeaveOut);
//   writer.add("metrics.jsonl", [file, line] { return file->append_line(line); });
//   for (const std::string& problem : writer.take_problems()) ...
//   writer.finish(10);
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "motley/base/ids.h"

namespace motley {

class BackgroundWriter {
 public:
  // A change of a file. It must own what it uses: a disk that stalls for ever may outlast the
  // writer.
  using Change = std::function<Status()>;
  // What add() does when too many changes wait to be made.
  enum class WhenFull { kLeaveOut, kWait };
  static constexpr std::size_t kMost = 10'000;

  explicit BackgroundWriter(WhenFull when_full, std::size_t most = kMost);
  // Waits as finish() with kPatience, unless that has been in vain before.
  ~BackgroundWriter();
  BackgroundWriter(const BackgroundWriter&) = delete;
  BackgroundWriter& operator=(const BackgroundWriter&) = delete;

  // Any thread. `file` is its name, for problems.
  void add(const std::string& file, Change change);
  // One line for the first change of each file that failed, and one if changes are left out, since
  // the last call. Later changes of a file are made all the same.
  std::vector<std::string> take_problems();
  // Waits until all changes are made, or for so many seconds. Returns whether they are.
  static constexpr Seconds kPatience = 10;
  bool finish(Seconds patience);
  // Thread-safe: no change waits to be made.
  bool is_idle() const;

 private:
  struct Shared;

  static void run(const std::shared_ptr<Shared>& shared);

  const std::shared_ptr<Shared> shared_;  // with the thread
  bool gave_up_ = false;
  std::thread thread_;
};

}  // namespace motley
