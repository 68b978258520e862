#include "state/checkpoint_writer.h"

#include <fmt/format.h>

#include <utility>

namespace motley {

CheckpointWriter::CheckpointWriter(CheckpointStore store, int keep)
    : store_(std::move(store)), keep_(keep), thread_([this] { run(); }) {}

CheckpointWriter::~CheckpointWriter() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void CheckpointWriter::write(Checkpoint checkpoint) {
  std::optional<Checkpoint> replaced(std::move(checkpoint));  // freed after the lock
  {
    const std::lock_guard lock(mutex_);
    replaced.swap(waiting_);
    if (replaced && slowness_.begins()) {
      news_.problems.push_back(fmt::format(
          "the checkpoint of step {} is left out: the one before it is still being written",
          replaced->step));
    }
    if (!replaced && !is_writing_) {
      slowness_.ends();
    }
  }
  changed_.notify_all();
}

CheckpointNews CheckpointWriter::take_news() {
  const std::lock_guard lock(mutex_);
  return std::exchange(news_, {});
}

void CheckpointWriter::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !waiting_ && !is_writing_; });
}

void CheckpointWriter::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return waiting_ || is_ending_; });
    if (!waiting_) {
      return;
    }
    is_writing_ = true;
    {
      const Checkpoint checkpoint = *std::exchange(waiting_, std::nullopt);
      lock.unlock();
      write_one(checkpoint);
    }
    lock.lock();
    is_writing_ = false;
    changed_.notify_all();
  }
}

// Text that is not UTF-8, or no memory: an exception must not end the process.
Status CheckpointWriter::try_to_write(const Checkpoint& checkpoint) {
  try {
    return store_.write(checkpoint);
  } catch (const std::exception& error) {
    return fail("checkpoint {}: cannot be written: {}", checkpoint.step, error.what());
  }
}

void CheckpointWriter::write_one(const Checkpoint& checkpoint) {
  const Status status = try_to_write(checkpoint);
  note(failure_, status);
  if (!status) {
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    news_.written.push_back(checkpoint.step);
  }
  note(removal_, store_.keep(keep_, checkpoint.step));
}

void CheckpointWriter::note(Trouble& trouble, const Status& status) {
  const std::lock_guard lock(mutex_);
  if (status) {
    trouble.ends();
  } else if (trouble.begins()) {
    news_.problems.push_back(status.error().message);
  }
}

}  // namespace motley
