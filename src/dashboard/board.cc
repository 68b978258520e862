#include "dashboard/board.h"

#include <utility>

namespace motley {

void Board::publish(std::string record, std::string metrics) {
  // A line break would end an event. In JSON, line breaks are only whitespace.
  for (const char line_break : {'\n', '\r'}) {
    for (auto at = record.find(line_break); at != record.npos; at = record.find(line_break, at)) {
      record[at] = ' ';
    }
  }
  auto new_record = std::make_shared<const std::string>(std::move(record));
  auto new_metrics = std::make_shared<const std::string>(std::move(metrics));
  {
    std::lock_guard lock(mutex_);
    ++sight_.number;
    // The old value is freed, if by this thread, without holding the lock.
    std::swap(sight_.record, new_record);
    std::swap(sight_.metrics, new_metrics);
  }
  changed_.notify_all();
}

void Board::close() {
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
}

Board::Sight Board::now() const {
  std::lock_guard lock(mutex_);
  return sight_;
}

Board::News Board::wait(std::uint64_t seen, Clock::time_point earliest,
                        Clock::time_point latest) const {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, earliest, [&] { return closed_; });
  changed_.wait_until(lock, latest, [&] { return closed_ || sight_.number > seen; });
  return {sight_, closed_};
}

}  // namespace motley
