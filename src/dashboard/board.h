// Board: what there is to see. One side puts up the newest, the other looks or waits for it;
// neither holds the other up, and what somebody still reads stays as it is.
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
    std::uint64_t number = 0;  // of the publications; 0: there was none yet
    std::shared_ptr<const std::string> record = std::make_shared<std::string>();  // in one line
    std::shared_ptr<const std::string> metrics = std::make_shared<std::string>();
  };
  struct News {
    Sight sight;
    bool closed = false;  // there will be nothing newer
  };

  void publish(std::string record, std::string metrics);
  // Nothing more will be published: who waits need not.
  void close();

  Sight now() const;
  // Waits for something newer than the publication `seen`: from `earliest` on, until `latest`. Does
  // not wait once closed.
  News wait(std::uint64_t seen, Clock::time_point earliest, Clock::time_point latest) const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  Sight sight_;
  bool closed_ = false;
};

}  // namespace motley
