#include "runtime/run/state_sender.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <map>
#include <new>

#include "runtime/run/state_stream.h"

namespace motley {
namespace {

std::shared_ptr<const State> state_of_size(std::size_t bytes) {
  auto state = std::make_shared<State>();
  state->tensors["x"] = {ElementType::kUint8,
                         {static_cast<std::int64_t>(bytes)},
                         std::vector<std::byte>(bytes, std::byte{7})};
  return state;
}

// Collects what was sent; acknowledges nothing by itself.
class Receiver {
 public:
  StateSender::Send sink() {
    return [this](Rank to, std::int64_t number, const std::vector<std::byte>& chunk) {
      std::lock_guard lock(mutex_);
      EXPECT_EQ(number, to + 100);
      EXPECT_TRUE(states_[to].add(chunk));
      ++chunks_;
      changed_.notify_all();
    };
  }
  void await_chunks(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return chunks_ >= count; });
  }
  int chunks() {
    std::lock_guard lock(mutex_);
    return chunks_;
  }
  State take(Rank to) { return states_[to].take(); }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Rank, IncomingState> states_;
  int chunks_ = 0;
};

const StateSender::Failed kNoFailure = [](const std::exception_ptr&) { ADD_FAILURE(); };

TEST(StateSender, TellsThatItCannotSend) {
  std::promise<std::exception_ptr> failure;
  StateSender sender(
      [](Rank, std::int64_t, const std::vector<std::byte>&) { throw std::bad_alloc(); },
      [&](const std::exception_ptr& error) { failure.set_value(error); });
  sender.send(4, 104, state_of_size(3));
  EXPECT_THROW(std::rethrow_exception(failure.get_future().get()), std::bad_alloc);
}

TEST(StateSender, SendsStatesInOrderAsTheyAreAcknowledged) {
  Receiver receiver;
  StateSender sender(receiver.sink(), kNoFailure);
  const auto large = state_of_size(10 * kStateChunk);
  const auto small = state_of_size(3);
  sender.send(4, 104, large);
  sender.send(5, 105, small);
  for (int chunk = 1; chunk <= 12; ++chunk) {  // heads make one more of the large one
    receiver.await_chunks(chunk);
    EXPECT_LE(receiver.chunks(), chunk + StateSender::kWindow);
    EXPECT_FALSE(sender.idle());
    sender.acknowledge(chunk <= 11 ? 4 : 5);
  }
  sender.finish(60);
  EXPECT_TRUE(sender.idle());
  EXPECT_EQ(receiver.take(4), *large);
  EXPECT_EQ(receiver.take(5), *small);
}

TEST(StateSender, EndsWhileNobodyAcknowledges) {
  Receiver receiver;
  StateSender sender(receiver.sink(), kNoFailure);
  sender.send(4, 104, state_of_size(10 * kStateChunk));
  receiver.await_chunks(StateSender::kWindow);
  sender.finish(0.01);
  EXPECT_FALSE(sender.idle());
  EXPECT_EQ(receiver.chunks(), StateSender::kWindow);
}

TEST(StateSender, AcknowledgementsOfNothingHaveNoEffect) {
  Receiver receiver;
  StateSender sender(receiver.sink(), kNoFailure);
  sender.acknowledge(0);
  EXPECT_TRUE(sender.idle());
  sender.send(0, 100, state_of_size(1));
  receiver.await_chunks(1);
  EXPECT_FALSE(sender.idle());
}

// Of three receivers one is lost: the others get their states.
TEST(StateSender, AReceiverThatIsDroppedHoldsNobodyUp) {
  Receiver receiver;
  StateSender sender(receiver.sink(), kNoFailure);
  const auto large = state_of_size(10 * kStateChunk);
  sender.send(4, 104, large);
  sender.send(5, 105, state_of_size(3));
  sender.send(4, 104, large);
  receiver.await_chunks(StateSender::kWindow);
  sender.drop(4);
  receiver.await_chunks(StateSender::kWindow + 1);
  sender.acknowledge(5);
  sender.finish(60);
  EXPECT_TRUE(sender.idle());
  EXPECT_EQ(receiver.take(5), *state_of_size(3));
}

}  // namespace
}  // namespace motley
