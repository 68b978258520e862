#include "fabric/tcp.h"

#include <fcntl.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <asio/ip/address.hpp>
#include <asio/post.hpp>
#include <chrono>
#include <fstream>
#include <future>

#include "base/check.h"
#include "fabric/tcp_connection.h"

namespace motley {
namespace {

using asio::ip::tcp;
using unix_domain = asio::local::stream_protocol;

constexpr int kSocketBuffer = 4 << 20;
constexpr int kWorthSetting = 1 << 20;

int system_limit(const char* file) {
  int limit = 0;
  std::ifstream(file) >> limit;
  return limit;
}

// A globally unique name, so that a peer finds this socket on the right machine or not at all.
std::string unique_name() {
  std::array<std::uint64_t, 2> words{};
  MOTLEY_CHECK(getrandom(words.data(), sizeof words, 0) == sizeof words, "no random numbers");
  return fmt::format("motley-{:016x}{:016x}", words[0], words[1]);
}

}  // namespace

std::string name_of(Rank rank) {
  return rank == kCoordinator ? "the coordinator" : fmt::format("rank {}", rank);
}

void enlarge_send_buffer(int socket) {
  static const int limit = system_limit("/proc/sys/net/core/wmem_max");
  if (limit >= kWorthSetting) {
    setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &kSocketBuffer, sizeof kSocketBuffer);
  }
}

void enlarge_receive_buffer(int socket) {
  static const int limit = system_limit("/proc/sys/net/core/rmem_max");
  if (limit >= kWorthSetting) {
    setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &kSocketBuffer, sizeof kSocketBuffer);
  }
}

void keep_from_children(int socket) { fcntl(socket, F_SETFD, FD_CLOEXEC); }

TcpFabric::TcpFabric(Driver& driver, FabricSink& sink, TcpOptions options)
    : driver_(driver),
      sink_(sink),
      options_(std::move(options)),
      acceptor_(driver.io()),
      local_acceptor_(driver.io()),
      tick_timer_(driver.io()) {
  MOTLEY_CHECK(options_.token.size() <= kHelloPayloadLimit, "token too long");
  const tcp::endpoint here(asio::ip::make_address(options_.address), options_.port);
  acceptor_.open(here.protocol());
  keep_from_children(acceptor_.native_handle());
  acceptor_.set_option(tcp::acceptor::reuse_address(true));
  enlarge_receive_buffer(acceptor_.native_handle());  // accepted sockets inherit it
  acceptor_.bind(here);
  acceptor_.listen();

  // In the abstract namespace (a leading zero byte): leaves no file behind.
  endpoint_ = {options_.address, acceptor_.local_endpoint().port(), unique_name()};
  const unix_domain::endpoint here_too(std::string(1, '\0') + endpoint_.local);
  local_acceptor_.open(here_too.protocol());
  keep_from_children(local_acceptor_.native_handle());
  local_acceptor_.bind(here_too);
  local_acceptor_.listen();

  asio::post(driver_.io(), [this, alive = alive_] {
    if (*alive) {
      accept(acceptor_);
      accept(local_acceptor_);
    }
  });
}

TcpFabric::~TcpFabric() { stop(); }

void TcpFabric::stop() {
  if (!*alive_) {
    return;
  }
  // Handlers of this fabric may still be queued. They run one at a time, so after this one none
  // finds the fabric alive. The handler shares the promise because it may outlive this call.
  auto done = std::make_shared<std::promise<void>>();
  asio::post(driver_.io(), [this, done] {
    shut();
    done->set_value();
  });
  done->get_future().wait();
}

void TcpFabric::shut() {
  *alive_ = false;
  std::error_code ignored;
  acceptor_.close(ignored);
  local_acceptor_.close(ignored);
  tick_timer_.cancel();
  for (const auto& connection : incoming_) {
    connection->shut();
  }
  for (const auto& connection : all_outgoing()) {
    connection->shut();
  }
}

void TcpFabric::set_peer(Rank peer, const Endpoint& endpoint) {
  std::lock_guard lock(mutex_);
  links_[peer].endpoint = endpoint;
}

void TcpFabric::send(Rank to, const Message& message) {
  MOTLEY_CHECK(!message.payload.is_phantom(), "a phantom payload on a real wire");
  if (auto connection = outgoing(to, message)) {
    if (to != kCoordinator) {
      bytes_sent_ += static_cast<std::int64_t>(kFrameBytes + message.payload.size());
    }
    connection->send(FrameKind::kMessage, message);
  }
}

std::vector<std::shared_ptr<TcpFabric::Outgoing>> TcpFabric::all_outgoing() {
  std::vector<std::shared_ptr<Outgoing>> all;
  std::lock_guard lock(mutex_);
  for (const auto& [peer, link] : links_) {
    if (link.outgoing) {
      all.push_back(link.outgoing);
    }
  }
  return all;
}

void TcpFabric::close(double patience) {
  closing_ = true;
  const auto all = all_outgoing();
  Message bye;
  bye.from = options_.self;
  for (const auto& connection : all) {
    connection->send(FrameKind::kBye, bye);
  }
  // Polling is enough here: this happens once, at the end of a run.
  constexpr auto kLook = std::chrono::milliseconds(2);
  const auto deadline = Driver::Clock::now() + std::chrono::duration<double>(patience);
  auto all_idle = [&] {
    return std::all_of(all.begin(), all.end(), [](const auto& one) { return one->idle(); });
  };
  while (!all_idle() && Driver::Clock::now() < deadline) {
    std::unique_lock lock(driver_.mutex());
    driver_.wait(lock, Driver::Clock::now() + kLook, [] { return false; });
  }
}

template <class Acceptor>
void TcpFabric::accept(Acceptor& acceptor) {
  using Socket = typename Acceptor::protocol_type::socket;
  acceptor.async_accept([this, &acceptor, alive = alive_](std::error_code error, Socket socket) {
    if (!*alive || error == asio::error::operation_aborted) {
      return;
    }
    if (!error) {
      keep_from_children(socket.native_handle());
      auto connection = std::make_shared<Incoming>(*this, std::move(socket));
      incoming_.insert(connection);
      connection->start();
    }
    accept(acceptor);
  });
}

}  // namespace motley
