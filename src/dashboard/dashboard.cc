#include "dashboard/dashboard.h"

#include <sys/resource.h>

#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "dashboard/board.h"
#include "dashboard/connection.h"
#include "dashboard/http.h"
#include "dashboard/listener.h"

namespace motley {
namespace {

using namespace std::chrono_literals;

constexpr int kNice = 10;                    // training has priority
constexpr auto kWithoutDescriptors = 100ms;  // pause before accepting again

// While this lives, new threads block all signals: those belong to the thread that waits for them.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace

// Each thread accepts a connection, serves it, and accepts the next. Connections without a thread
// wait in the kernel.
class Dashboard::Impl {
 public:
  Impl(Listener listener, std::string page, const DashboardLimits& limits)
      : listener_(std::move(listener)),
        http_(std::move(page), board_, limits, listener_.is_loopback()),
        limits_(limits) {}

  // Throws std::system_error if no more threads can be created.
  void start() {
    const SignalsBlocked blocked;
    for (int i = 0; i < limits_.streams + limits_.others; ++i) {
      threads_.emplace_back([this] { work(); });
    }
  }

  ~Impl() {
    {
      std::lock_guard lock(mutex_);
      closing_ = true;
    }
    changed_.notify_all();
    board_.close();
    listener_.close();
    {
      std::unique_lock lock(mutex_);
      for (const Connection* connection : open_) {
        connection->stop_reading();
      }
      changed_.wait_for(lock, limits_.farewell, [&] { return open_.empty(); });
      for (const Connection* connection : open_) {
        connection->cut();
      }
    }
    for (std::thread& thread : threads_) {
      thread.join();
    }
  }

  Board& board() { return board_; }
  const std::string& url() const { return listener_.url(); }

 private:
  void work() {
    setpriority(PRIO_PROCESS, 0, kNice);  // on Linux this applies to this thread only
    for (;;) {
      if (const int socket = listener_.accept(); socket >= 0) {
        Connection connection(socket, limits_.write_time, limits_.slowest);
        if (!enter(connection)) {
          return;
        }
        http_.serve(connection);
        leave(connection);
      } else if (errno != EINTR && errno != ECONNABORTED && ended_within(kWithoutDescriptors)) {
        return;
      }
    }
  }

  // False if the dashboard is closing.
  bool enter(const Connection& connection) {
    std::lock_guard lock(mutex_);
    if (!closing_) {
      open_.insert(&connection);
    }
    return !closing_;
  }
  void leave(const Connection& connection) {
    std::lock_guard lock(mutex_);
    open_.erase(&connection);
    changed_.notify_all();
  }
  bool ended_within(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [&] { return closing_; });
  }

  const Listener listener_;
  Board board_;
  Http http_;
  const DashboardLimits limits_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool closing_ = false;
  std::set<const Connection*> open_;
  std::vector<std::thread> threads_;
};

Result<std::unique_ptr<Dashboard>> Dashboard::start(const Address& address, std::string page,
                                                    const DashboardLimits& limits) {
  auto listener = Listener::open(address.host, address.port);
  if (!listener) {
    return tl::unexpected(listener.error());
  }
  auto impl = std::make_unique<Impl>(std::move(*listener), std::move(page), limits);
  try {
    impl->start();
  } catch (const std::system_error& problem) {
    return fail("cannot start the live page: {}", problem.code().message());
  }
  return std::unique_ptr<Dashboard>(new Dashboard(std::move(impl)));
}

Dashboard::Dashboard(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Dashboard::~Dashboard() = default;

std::string Dashboard::url() const { return impl_->url(); }

void Dashboard::publish(std::string record, std::string metrics) {
  impl_->board().publish(std::move(record), std::move(metrics));
}

}  // namespace motley
