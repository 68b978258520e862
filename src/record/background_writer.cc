#include "record/background_writer.h"

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <utility>

namespace motley {
namespace {

// Text that is not UTF-8, or no memory: an exception must not end the process.
Status try_to_make(const BackgroundWriter::Change& change, const std::string& file) {
  try {
    return change();
  } catch (const std::exception& error) {
    return fail("{}: cannot be written: {}", file, error.what());
  }
}

}  // namespace

struct BackgroundWriter::Shared {
  Shared(WhenFull what, std::size_t count) : when_full(what), most(count) {}

  bool is_idle() const { return changes.empty() && !is_writing; }

  const WhenFull when_full;
  const std::size_t most;
  std::mutex mutex;  // guards what follows
  std::condition_variable changed;
  std::deque<std::pair<std::string, Change>> changes;
  bool is_writing = false;
  bool is_ending = false;
  bool leaves_out = false;
  std::set<std::string> failed;  // files
  std::vector<std::string> problems;
};

BackgroundWriter::BackgroundWriter(WhenFull when_full, std::size_t most)
    : shared_(std::make_shared<Shared>(when_full, most)),
      thread_([shared = shared_] { run(shared); }) {}

BackgroundWriter::~BackgroundWriter() {
  const bool is_done = !gave_up_ && finish(kPatience);
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->is_ending = true;
  }
  shared_->changed.notify_all();
  if (is_done) {
    thread_.join();
  } else {
    thread_.detach();  // it waits for the disk, and ends when that answers
  }
}

void BackgroundWriter::add(const std::string& file, Change change) {
  {
    std::unique_lock lock(shared_->mutex);
    const auto has_room = [&] { return shared_->changes.size() < shared_->most; };
    if (!has_room() && shared_->when_full == WhenFull::kLeaveOut) {
      if (!std::exchange(shared_->leaves_out, true)) {
        shared_->problems.push_back(
            fmt::format("{}: lines are left out: the disk takes too long", file));
      }
      return;
    }
    shared_->changed.wait(lock, has_room);
    shared_->changes.emplace_back(file, std::move(change));
  }
  shared_->changed.notify_all();
}

std::vector<std::string> BackgroundWriter::take_problems() {
  const std::lock_guard lock(shared_->mutex);
  return std::exchange(shared_->problems, {});
}

bool BackgroundWriter::finish(Seconds patience) {
  std::unique_lock lock(shared_->mutex);
  const bool is_done = shared_->changed.wait_for(lock, std::chrono::duration<double>(patience),
                                                 [&] { return shared_->is_idle(); });
  gave_up_ = !is_done;
  return is_done;
}

bool BackgroundWriter::is_idle() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->is_idle();
}

// Files are closed with the change that uses them last, so changes must not end under the lock.
void BackgroundWriter::run(const std::shared_ptr<Shared>& shared) {
  std::unique_lock lock(shared->mutex);
  for (;;) {
    shared->changed.wait(lock, [&] { return !shared->changes.empty() || shared->is_ending; });
    if (shared->is_ending) {
      return;
    }
    auto [file, change] = std::move(shared->changes.front());
    shared->changes.pop_front();
    shared->is_writing = true;
    lock.unlock();
    const Status status = try_to_make(change, file);
    change = nullptr;
    lock.lock();
    if (!status && shared->failed.insert(file).second) {
      shared->problems.push_back(status.error().message);
    }
    shared->is_writing = false;
    shared->changed.notify_all();
  }
}

}  // namespace motley
