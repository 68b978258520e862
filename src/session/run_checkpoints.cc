#include "session/run_checkpoints.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace motley {

void RunCheckpoints::write(Checkpoint checkpoint) {
  if (!writer_) {
    writer_ = std::make_unique<CheckpointWriter>(
        CheckpointStore(real_files(), run_ / kCheckpointsDirectory), keep_);
  }
  const std::int64_t step = checkpoint.step;
  writer_->write(std::move(checkpoint));
  under_way_.push_back(step);
  if (waits_) {
    writer_->finish();
  }
  take_news();
}

void RunCheckpoints::finish() {
  if (writer_) {
    writer_->finish();
    take_news();
  }
}

std::int64_t RunCheckpoints::expected() {
  if (writer_) {
    take_news();
  }
  return written_ + std::min<std::int64_t>(std::ssize(under_way_), kMostUnderWay);
}

// They are written in order: one that was handed over before is on disk, or never will be.
void RunCheckpoints::take_news() {
  CheckpointNews news = writer_->take_news();
  written_ += std::ssize(news.written);
  for (const std::int64_t step : news.written) {
    const auto found = std::ranges::find(under_way_, step);
    under_way_.erase(under_way_.begin(), found == under_way_.end() ? found : found + 1);
  }
  std::ranges::move(news.problems, std::back_inserter(problems_));
}

std::vector<std::string> RunCheckpoints::take_problems() { return std::exchange(problems_, {}); }

}  // namespace motley
