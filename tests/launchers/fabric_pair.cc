// One end of a pair of fabrics that talk over a network of which a test cuts the links.
//   fabric_pair RANK ADDRESS PEERS_ADDRESS PORT STUCK_AFTER
// RANK is 0 or 1. Sends a message every 10 ms and seven pulses per STUCK_AFTER seconds. Prints
// "listening", and begins when a line comes; then "connected" when the first message has come
// and pulses were sent, or why the other side was lost before. When its input ends it waits until
// all messages of the other side have come, and prints what happened as one line of JSON.
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "fabric/tcp.h"

namespace {

using motley::Driver;
using motley::Message;
using motley::Rank;
using std::chrono::duration;
using std::chrono::milliseconds;

constexpr auto kStep = milliseconds(10);
constexpr auto kPatience = std::chrono::seconds(30);
constexpr std::int64_t kLast = -1;  // tag of the last message; `a` is how many came before

struct Arrivals final : motley::FabricSink {
  explicit Arrivals(Driver& sockets) : driver(sockets) {}

  void on_message(Message message) override {
    const auto now = Driver::Clock::now();
    std::lock_guard lock(driver.mutex());
    longest_gap = std::max(longest_gap, duration<double>(now - last).count());
    last = now;
    if (message.header.tag == kLast) {
      total = message.header.a;
    } else if (message.header.tag == count) {
      ++count;
    } else {
      in_order = false;
    }
    driver.wake();
  }
  void on_peer_lost(Rank, const std::string& reason) override {
    std::lock_guard lock(driver.mutex());
    lost = reason;
    driver.wake();
  }

  Driver& driver;
  // Guarded by the driver's mutex.
  std::int64_t count = 0;
  std::int64_t total = -1;
  bool in_order = true;
  double longest_gap = 0;  // seconds between two messages
  Driver::Clock::time_point last = Driver::Clock::now();
  std::string lost;
};

void say(const char* word) {
  std::puts(word);
  std::fflush(stdout);
}

bool input_has_ended() {
  pollfd input{0, POLLIN, 0};
  return poll(&input, 1, 0) > 0;
}

// Returns how many messages were sent.
std::int64_t talk(Driver& driver, motley::TcpFabric& fabric, Arrivals& arrivals, Rank self,
                  double stuck_after) {
  const std::vector<float> values(20'000, 1.0F);
  auto next_pulse = Driver::Clock::now();
  bool said = false;
  int pulses = 0;
  std::int64_t sent = 0;
  while (!input_has_ended()) {
    fabric.send(1 - self,
                {self, motley::Channel::kMethod, {.tag = sent}, motley::Payload::borrow(values)});
    ++sent;
    if (stuck_after > 0 && Driver::Clock::now() >= next_pulse) {
      fabric.pulse();
      ++pulses;
      next_pulse +=
          std::chrono::duration_cast<Driver::Clock::duration>(duration<double>(stuck_after / 7));
    }
    std::unique_lock lock(driver.mutex());
    driver.wait(lock, Driver::Clock::now() + kStep, [] { return false; });
    if (!said && arrivals.count > 0 && (pulses > 1 || stuck_after <= 0)) {
      said = true;
      say("connected");
    }
    if (!said && !arrivals.lost.empty()) {
      said = true;
      say(arrivals.lost.c_str());
    }
  }
  fabric.send(1 - self, {self, motley::Channel::kMethod, {.tag = kLast, .a = sent}, {}});
  return sent;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    return 2;
  }
  const Rank self = std::atoi(argv[1]);
  const auto port = static_cast<std::uint16_t>(std::atoi(argv[4]));
  const double stuck_after = std::atof(argv[5]);
  Driver driver;
  Arrivals arrivals(driver);
  motley::TcpFabric fabric(driver, arrivals,
                           {.self = self, .token = "pair", .address = argv[2], .port = port});
  fabric.set_peer(1 - self, {argv[3], port});
  fabric.set_stuck_after(stuck_after);
  say("listening");
  std::getchar();
  const std::int64_t sent = talk(driver, fabric, arrivals, self, stuck_after);
  {
    std::unique_lock lock(driver.mutex());
    driver.wait(lock, Driver::Clock::now() + kPatience,
                [&] { return arrivals.count == arrivals.total || !arrivals.lost.empty(); });
    std::printf(R"({"sent": %lld, "came": %lld, "expected": %lld, )"
                R"("in_order": %s, "gap": %.2f, "lost": "%s"})"
                "\n",
                static_cast<long long>(sent), static_cast<long long>(arrivals.count),
                static_cast<long long>(arrivals.total), arrivals.in_order ? "true" : "false",
                arrivals.longest_gap, arrivals.lost.c_str());
  }
  fabric.close(5);
  return 0;
}
