// What tests of the dashboard ask it with.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "dashboard/dashboard.h"
#include "tests/raw_client.h"

namespace motley::dashboard_test {

using namespace std::chrono_literals;

constexpr auto kNever = 1h;                       // longer than any test may take
inline const std::string kLarge(16u << 20, ' ');  // more than the kernel buffers
inline const std::string kPage = "<!doctype html><title>motley</title>";

inline std::unique_ptr<Dashboard> start(DashboardLimits limits = {}) {
  // Whatever is not being tested may take as long as a busy machine needs.
  const DashboardLimits usual;
  limits.request_time = limits.request_time == usual.request_time ? kNever : limits.request_time;
  limits.write_time = limits.write_time == usual.write_time ? kNever : limits.write_time;
  auto dashboard = Dashboard::start({}, kPage, limits);
  EXPECT_TRUE(dashboard) << dashboard.error().message;
  return std::move(*dashboard);
}

struct HttpAnswer {
  std::string status;  // "200 OK"
  std::multimap<std::string, std::string> headers;
  std::string body;

  std::string header(const std::string& name) const {
    EXPECT_LE(headers.count(name), 1u) << name;
    const auto at = headers.find(name);
    return at == headers.end() ? "" : at->second;
  }
};

inline HttpAnswer parsed(const std::string& text) {
  HttpAnswer answer;
  const std::size_t end = text.find("\r\n\r\n");
  EXPECT_TRUE(text.starts_with("HTTP/1.1 ")) << text.substr(0, 200);
  EXPECT_NE(end, std::string::npos) << text.substr(0, 200);
  if (end == std::string::npos) {
    return answer;
  }
  std::size_t at = text.find("\r\n");
  answer.status = text.substr(9, at - 9);
  while (at < end) {
    const std::size_t next = text.find("\r\n", at + 2);
    const std::string line = text.substr(at + 2, next - at - 2);
    const std::size_t colon = line.find(": ");
    EXPECT_NE(colon, std::string::npos) << line;
    answer.headers.emplace(line.substr(0, colon), line.substr(colon + 2));
    at = next;
  }
  answer.body = text.substr(end + 4);
  return answer;
}

inline HttpAnswer ask(const Dashboard& dashboard, const std::string& request) {
  RawClient client(dashboard.url());
  client.send(request);
  return parsed(client.rest());
}
inline HttpAnswer get(const Dashboard& dashboard, const std::string& path,
                      const std::string& host = "localhost") {
  return parsed(RawClient(dashboard.url()).get(path, host).rest());
}

// A client of /events that has not read its first event yet; nullopt if there is no room for it.
inline std::optional<RawClient> watch(const Dashboard& dashboard, int receive_buffer = 0) {
  RawClient client(dashboard.url(), receive_buffer);
  const HttpAnswer answer = parsed(client.get("/events").until("\r\n\r\n"));
  if (answer.status != "200 OK") {
    EXPECT_EQ(answer.status, "503 Service Unavailable");
    return std::nullopt;
  }
  EXPECT_EQ(answer.header("Content-Type"), "text/event-stream");
  EXPECT_EQ(client.until("\n\n"), "retry: 1000\n\n");
  return client;
}

// Like watch(), but retries until there is room.
inline RawClient watch_in_the_end(const Dashboard& dashboard) {
  const auto deadline = std::chrono::steady_clock::now() + RawClient::kPatience;
  while (std::chrono::steady_clock::now() < deadline) {
    if (auto client = watch(dashboard)) {
      return std::move(*client);
    }
  }
  throw std::runtime_error("no stream became free");
}

// The next document; signs of life are skipped.
inline std::string next_event(RawClient& client) {
  std::string event;
  do {
    event = client.until("\n\n");
  } while (event == ":\n\n");
  EXPECT_TRUE(event.starts_with("data: ")) << event.substr(0, 100);
  return event.substr(6, event.size() - 8);
}

}  // namespace motley::dashboard_test
