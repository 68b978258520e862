// Board: holds the latest state of a run. One side publishes it, the other reads it or waits for
// news. Neither blocks the other, and what a reader holds does not change.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

namespace motley {

class Board {
 public:
  using Clock = std::chrono::steady_clock;

  struct Sight {
    std::uint64_t number = 0;  // number of publications; 0: none yet
    std::shared_ptr<const std::string> record = std::make_shared<std::string>();  // in one line
    std::shared_ptr<const std::string> metrics = std::make_shared<std::string>();
  };
  struct News {
    Sight sight;
    bool closed = false;  // nothing newer will follow
  };

  void publish(std::string record, std::string metrics);
  // Nothing more will be published; ends all waits.
  void close();

  Sight now() const;
  // Waits for a publication newer than `seen`, not returning before `earliest` nor after `latest`.
  // Does not wait once closed.
  News wait(std::uint64_t seen, Clock::time_point earliest, Clock::time_point latest) const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  Sight sight_;
  bool closed_ = false;
};

}  // namespace motley
