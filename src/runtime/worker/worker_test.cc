// How a worker waits for the others. What follows is tested in session/coordinator_test.cc.
#include "runtime/worker/worker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "fabric/driver.h"
#include "fabric/tcp.h"
#include "runtime/run/control.h"
#include "runtime/worker/real_node.h"

namespace motley::worker_test {
namespace {

// The coordinator's side of the connection.
class CoordinatorSide {
 public:
  CoordinatorSide() { node_.attach(fabric_); }

  Admission admission() const { return {1, "secret", fabric_.endpoint(), "127.0.0.1"}; }
  Control hear() { return kind_of(node_.receive({Channel::kControl})); }

 private:
  Driver driver_;
  RealNode node_{driver_, kCoordinator, 2};
  TcpFabric fabric_{driver_, node_, {.self = kCoordinator, .token = "secret"}};
};

TEST(Worker, ACoordinatorThatIsGoneEndsTheWaiting) {
  auto coordinator = std::make_unique<CoordinatorSide>();
  Worker worker(coordinator->admission());
  auto joined = std::async(std::launch::async, [&] { return worker.join(); });
  EXPECT_EQ(coordinator->hear(), Control::kJoin);
  coordinator.reset();
  EXPECT_THROW(joined.get(), Interrupted);
}

TEST(Worker, TheWaitingCanBeInterrupted) {
  CoordinatorSide coordinator;
  Worker worker(coordinator.admission());
  std::atomic<bool> interrupted = false;
  auto joined = std::async(std::launch::async, [&] {
    return worker.join(
        [&] { return interrupted ? std::optional<std::string>("enough") : std::nullopt; });
  });
  EXPECT_EQ(coordinator.hear(), Control::kJoin);
  EXPECT_EQ(coordinator.hear(), Control::kHeartbeat);  // the worker is waiting
  interrupted = true;
  EXPECT_EQ(joined.get().error().message, "enough");
}

}  // namespace
}  // namespace motley::worker_test
