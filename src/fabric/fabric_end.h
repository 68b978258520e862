// What tests of TcpFabric share: one end of it, and a client that can say anything.
#pragma once

#include <asio/connect.hpp>
#include <asio/read.hpp>
#include <asio/write.hpp>
#include <chrono>
#include <deque>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

#include "fabric/tcp.h"

namespace motley {

inline constexpr auto kFabricDeadline = std::chrono::seconds(20);

// One end of a fabric and the messages that arrived there.
class FabricEnd final : public FabricSink {
 public:
  explicit FabricEnd(Rank rank, TcpOptions options = {})
      : fabric_(driver_, *this, with(rank, std::move(options))) {}

  void on_message(Message message) override {
    std::lock_guard lock(driver_.mutex());
    arrived_.push_back(std::move(message));
    driver_.wake();
  }
  void on_peer_lost(Rank peer, const std::string& reason) override {
    std::lock_guard lock(driver_.mutex());
    lost_[peer] = reason;
    driver_.wake();
  }

  Message next() {
    std::unique_lock lock(driver_.mutex());
    const bool came = driver_.wait(lock, Driver::Clock::now() + kFabricDeadline,
                                   [&] { return !arrived_.empty(); });
    if (!came) {
      throw std::runtime_error("no message came");
    }
    Message message = std::move(arrived_.front());
    arrived_.pop_front();
    return message;
  }
  // Waits for the loss of a peer; each is returned once.
  std::string reason_for_losing(Rank peer) {
    std::unique_lock lock(driver_.mutex());
    driver_.wait(lock, Driver::Clock::now() + kFabricDeadline,
                 [&] { return !lost_[peer].empty(); });
    return std::exchange(lost_[peer], {});
  }
  bool has_lost(Rank peer) {
    std::lock_guard lock(driver_.mutex());
    return !lost_[peer].empty();
  }

  TcpFabric& fabric() { return fabric_; }
  Endpoint endpoint() const { return fabric_.endpoint(); }

 private:
  static TcpOptions with(Rank rank, TcpOptions options) {
    options.self = rank;
    options.token = "secret";
    return options;
  }

  Driver driver_;
  std::deque<Message> arrived_;
  std::map<Rank, std::string> lost_;
  TcpFabric fabric_;
};

inline Message text(Rank from, const std::string& words, std::int64_t tag = 0) {
  return {from, Channel::kMethod, {.tag = tag}, Payload::copy_of(std::as_bytes(std::span(words)))};
}

inline std::string words_of(const Message& message) {
  const auto bytes = message.payload.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A plain TCP client, with a deadline so that no test hangs.
class RawPeer {
 public:
  explicit RawPeer(const Endpoint& endpoint) : socket_(io_) {
    socket_.connect({asio::ip::make_address(endpoint.host), endpoint.port});
  }
  void send(std::span<const std::byte> bytes) {
    std::error_code ignored;  // the other side may end the connection in the middle
    asio::write(socket_, asio::buffer(bytes.data(), bytes.size()), ignored);
  }
  void send(FrameKind kind, const Message& message) {
    send(encode_head(kind, message));
    send(message.payload.bytes());
  }
  // `stream` and `first`: as in frame.h.
  void hello(Rank from, Rank to, const std::string& token, std::int64_t stream = 1,
             std::int64_t first = 1, std::uint16_t term = 0) {
    Message hello = text(from, token);
    hello.header = {to, stream, first};
    hello.term = term;
    send(FrameKind::kHello, hello);
  }
  // True if the other side closed the connection.
  bool was_ended() {
    bool ended = false;
    std::array<char, 1> byte{};
    asio::async_read(socket_, asio::buffer(byte),
                     [&](std::error_code error, std::size_t) { ended = bool(error); });
    io_.run_for(kFabricDeadline);
    return ended;
  }

 private:
  asio::io_context io_;
  asio::ip::tcp::socket socket_;
};

}  // namespace motley
