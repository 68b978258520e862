// StateSender: sends states to other processes in the background, while training goes on.
//
//   StateSender sender([&](Rank to, std::int64_t number, std::vector<std::byte> chunk) { ... });
//   sender.send(kCoordinator, number, state);  // at once
//   sender.acknowledge(kCoordinator);          // the receiver has got one more chunk
//
// At most kWindow chunks are under way to a process, so that other messages to the same process do
// not wait behind a large state.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "motley/base/ids.h"
#include "state/state.h"

namespace motley {

class StateSender {
 public:
  static constexpr int kWindow = 4;

  using Send = std::function<void(Rank to, std::int64_t number, std::vector<std::byte> chunk)>;
  using Failed = std::function<void(const std::exception_ptr&)>;
  // Both are called on the sender's thread, which starts with the first state. `failed`: it cannot
  // send any more.
  StateSender(Send send, Failed failed) : send_(std::move(send)), failed_(std::move(failed)) {}
  ~StateSender() { stop(); }
  StateSender(const StateSender&) = delete;
  StateSender& operator=(const StateSender&) = delete;

  // States are sent one after the other. The number says to the receiver which one it is. Any
  // thread.
  void send(Rank to, std::int64_t number, std::shared_ptr<const State> state);
  // One more chunk has arrived at this process. Any thread.
  void acknowledge(Rank from);
  // True if everything was sent and acknowledged.
  bool idle();
  // Waits until it is idle; gives up when `patience` has passed without an acknowledgement.
  void finish(Seconds patience);
  // Drops what is not sent yet to this process, which will acknowledge nothing more. Any thread.
  void drop(Rank to);
  // Drops what is not sent yet. Afterwards `send` is not called any more.
  void stop();

 private:
  struct Item {
    Rank to;
    std::int64_t number;
    std::shared_ptr<const State> state;
  };

  void work();
  // With the mutex held.
  bool is_idle() const;
  std::int64_t chunks_under_way(Rank to) const;
  // False if the sender ends.
  bool send_one(const Item& item);

  const Send send_;
  const Failed failed_;
  std::mutex mutex_;  // guards all that follows
  std::condition_variable changed_;
  std::deque<Item> waiting_;
  bool sending_ = false;
  bool ending_ = false;
  std::map<Rank, std::int64_t> under_way_;  // chunks that were not acknowledged, by receiver
  std::set<Rank> dropped_;
  std::int64_t acknowledged_ = 0;
  std::thread thread_;
};

}  // namespace motley
