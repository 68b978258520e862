#include "dashboard/dashboard.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>
#include <optional>
#include <thread>
#include <vector>

#include "tests/raw_client.h"

namespace motley {
namespace {

using namespace std::chrono_literals;

constexpr auto kNever = 1h;                // longer than any test may take
const std::string kLarge(16u << 20, ' ');  // more than the kernel buffers
const std::string kPage = "<!doctype html><title>motley</title>";

std::unique_ptr<Dashboard> start(DashboardLimits limits = {}) {
  // Whatever is not being tested may take as long as a busy machine needs.
  const DashboardLimits usual;
  limits.request_time = limits.request_time == usual.request_time ? kNever : limits.request_time;
  limits.write_time = limits.write_time == usual.write_time ? kNever : limits.write_time;
  auto dashboard = Dashboard::start({}, kPage, limits);
  EXPECT_TRUE(dashboard) << dashboard.error().message;
  return std::move(*dashboard);
}

struct Answer {
  std::string status;  // "200 OK"
  std::multimap<std::string, std::string> headers;
  std::string body;

  std::string header(const std::string& name) const {
    EXPECT_LE(headers.count(name), 1u) << name;
    const auto at = headers.find(name);
    return at == headers.end() ? "" : at->second;
  }
};

Answer parsed(const std::string& text) {
  Answer answer;
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

Answer ask(const Dashboard& dashboard, const std::string& request) {
  RawClient client(dashboard.url());
  client.send(request);
  return parsed(client.rest());
}
Answer get(const Dashboard& dashboard, const std::string& path,
           const std::string& host = "localhost") {
  return parsed(RawClient(dashboard.url()).get(path, host).rest());
}

// A client of /events that has not read its first event yet; nullopt if there is no room for it.
std::optional<RawClient> watch(const Dashboard& dashboard, int receive_buffer = 0) {
  RawClient client(dashboard.url(), receive_buffer);
  const Answer answer = parsed(client.get("/events").until("\r\n\r\n"));
  if (answer.status != "200 OK") {
    EXPECT_EQ(answer.status, "503 Service Unavailable");
    return std::nullopt;
  }
  EXPECT_EQ(answer.header("Content-Type"), "text/event-stream");
  EXPECT_EQ(client.until("\n\n"), "retry: 1000\n\n");
  return client;
}

// Like watch(), but retries until there is room.
RawClient watch_in_the_end(const Dashboard& dashboard) {
  const auto deadline = std::chrono::steady_clock::now() + RawClient::kPatience;
  while (std::chrono::steady_clock::now() < deadline) {
    if (auto client = watch(dashboard)) {
      return std::move(*client);
    }
  }
  throw std::runtime_error("no stream became free");
}

// The next document; signs of life are skipped.
std::string next_event(RawClient& client) {
  std::string event;
  do {
    event = client.until("\n\n");
  } while (event == ":\n\n");
  EXPECT_TRUE(event.starts_with("data: ")) << event.substr(0, 100);
  return event.substr(6, event.size() - 8);
}

TEST(Dashboard, ServesThePageTheDocumentAndTheMetrics) {
  const auto dashboard = start();
  EXPECT_EQ(get(*dashboard, "/record.json").status, "503 Service Unavailable");
  EXPECT_EQ(get(*dashboard, "/metrics").status, "200 OK");
  dashboard->publish("{\"name\":\r\n\"é\"\n}", "motley_running 1\n");
  const std::map<std::string, std::pair<std::string, std::string>> expected = {
      {"/", {"text/html; charset=utf-8", kPage}},
      {"/?from=there", {"text/html; charset=utf-8", kPage}},
      {"/record.json", {"application/json", "{\"name\":  \"é\" }"}},
      {"/metrics", {"text/plain; version=0.0.4; charset=utf-8", "motley_running 1\n"}},
  };
  for (const auto& [path, what] : expected) {
    const Answer answer = get(*dashboard, path);
    EXPECT_EQ(answer.status, "200 OK") << path;
    EXPECT_EQ(answer.header("Content-Type"), what.first) << path;
    EXPECT_EQ(answer.body, what.second) << path;
    EXPECT_EQ(answer.header("Content-Length"), std::to_string(what.second.size())) << path;
  }
}

TEST(Dashboard, EveryAnswerHasTheSecurityHeaders) {
  const auto dashboard = start();
  dashboard->publish("{}", "");
  for (const std::string request :
       {"GET / HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\n\r\n",
        "GET /record.json HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "POST / HTTP/1.1\r\n\r\n"}) {
    const Answer answer = ask(*dashboard, request);
    EXPECT_EQ(answer.header("X-Content-Type-Options"), "nosniff") << request;
    EXPECT_EQ(answer.header("Cache-Control"), "no-store") << request;
    EXPECT_EQ(answer.header("Referrer-Policy"), "no-referrer") << request;
    EXPECT_EQ(answer.header("Connection"), "close") << request;
    for (const auto& [name, value] : answer.headers) {
      EXPECT_FALSE(name.starts_with("Access-Control")) << request;
    }
  }
}

TEST(Dashboard, KnowsNoOtherPaths) {
  const auto dashboard = start();
  for (const char* path : {"/favicon.ico", "/events/", "//", "/../etc/passwd", "/%2e%2e/",
                           "/Events", "/record.json/x", "*", "http://evil.example/", "/a\\b"}) {
    EXPECT_EQ(get(*dashboard, path).status, "404 Not Found") << path;
  }
}

TEST(Dashboard, AcceptsNothingButGet) {
  const auto dashboard = start();
  dashboard->publish("{}", "");
  const std::string body(100'000, 'x');
  for (const std::string method : {"HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE",
                                   "CONNECT", "PRI", "get", "GETS", "MADE-UP", "", "\x01"}) {
    for (const std::string path : {"/", "/events", "/record.json", "/nowhere"}) {
      const std::string head = method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n";
      for (const std::string& request :
           {head + "\r\n", head + "Content-Length: 100000\r\n\r\n" + body,
            head + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"}) {
        const Answer answer = ask(*dashboard, request);
        EXPECT_EQ(answer.status, "405 Method Not Allowed") << method << path;
        EXPECT_EQ(answer.header("Allow"), "GET") << method << path;
      }
    }
  }
}

// Closing while the client still sends resets the connection and may discard the answer.
TEST(Dashboard, LetsOthersFinish) {
  const auto dashboard = start();
  const std::string body(6u << 20, 'x');  // more than the kernel buffers
  for (const std::string method : {"GET", "POST"}) {
    RawClient client(dashboard->url());
    EXPECT_TRUE(client.send(method + " / HTTP/1.1\r\nHost: localhost\r\n\r\n" + body)) << method;
    EXPECT_NE(client.rest(), "") << method;
  }
  RawClient client(dashboard->url());
  client.send("POST / HTTP/1.1\r\n\r\n");
  EXPECT_NE(client.rest(), "");
  EXPECT_TRUE(client.send(body));
}

TEST(Dashboard, IgnoresWhatComesAfterTheHead) {
  const auto dashboard = start();
  const std::string head = "GET / HTTP/1.1\r\nHost: localhost\r\n";
  for (const std::string& request :
       {head + "Content-Length: 1000000\r\n\r\n" + std::string(1'000'000, 'x'),
        head + "\r\n" + head + "\r\n", head + "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n",
        head + "Range: bytes=0-3\r\n\r\n", head + "Accept-Encoding: gzip, br\r\n\r\n",
        std::string("GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")}) {
    const Answer answer = ask(*dashboard, request);
    EXPECT_EQ(answer.status, "200 OK") << request.substr(0, 100);
    EXPECT_EQ(answer.body, kPage) << request.substr(0, 100);
  }
}

TEST(Dashboard, OnLoopbackAnswersOnlyToNamesOfLoopback) {
  const auto dashboard = start();
  dashboard->publish("{}", "");
  for (const char* path : {"/", "/events", "/record.json", "/metrics", "/nowhere"}) {
    EXPECT_EQ(get(*dashboard, path, "evil.example").status, "421 Misdirected Request") << path;
  }
  EXPECT_EQ(get(*dashboard, "/", "127.0.0.1.evil.example:80").status, "421 Misdirected Request");
  EXPECT_EQ(get(*dashboard, "/", "localhost:1").status, "200 OK");
  EXPECT_EQ(get(*dashboard, "/", "[::1]:1").status, "200 OK");
  EXPECT_EQ(ask(*dashboard, "GET / HTTP/1.1\r\n\r\n").status, "400 Bad Request");
  EXPECT_EQ(
      ask(*dashboard, "GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n").status,
      "400 Bad Request");
}

TEST(Dashboard, OnOtherAddressesAnswersToAnyName) {
  auto dashboard = Dashboard::start({.host = "0.0.0.0"}, kPage);
  ASSERT_TRUE(dashboard) << dashboard.error().message;
  EXPECT_EQ(get(**dashboard, "/", "cluster.example").status, "200 OK");
}

TEST(Dashboard, SpeaksIPv6) {
  auto dashboard = Dashboard::start({.host = "::1"}, kPage);
  if (!dashboard) {
    GTEST_SKIP() << dashboard.error().message;  // the machine has no IPv6
  }
  EXPECT_TRUE((*dashboard)->url().starts_with("http://[::1]:")) << (*dashboard)->url();
  EXPECT_EQ(get(**dashboard, "/", "[::1]").body, kPage);
  EXPECT_EQ(get(**dashboard, "/", "evil.example").status, "421 Misdirected Request");
}

TEST(Dashboard, LongRequestsAreRefused) {
  const auto dashboard = start({.head = 1'000});
  const std::string head = "GET / HTTP/1.1\r\nHost: localhost\r\n";
  const std::string more(2'000, 'x');
  EXPECT_EQ(ask(*dashboard, more).status, "431 Request Header Fields Too Large");
  EXPECT_EQ(ask(*dashboard, head + "X: " + more + "\r\n\r\n").status,
            "431 Request Header Fields Too Large");
  const std::string whole = head + "X: " + std::string(1'000 - head.size() - 7, 'x') + "\r\n\r\n";
  ASSERT_EQ(whole.size(), 1'000u);
  EXPECT_EQ(ask(*dashboard, whole).status, "200 OK");
}

// The end of the head may be split too; pieces have 4,096 bytes.
TEST(Dashboard, AHeadMayComeInPieces) {
  const auto dashboard = start();
  const std::string head = "GET / HTTP/1.1\r\nHost: localhost\r\nX: ";
  for (std::size_t size = 4'090; size < 4'105; ++size) {
    const std::string filled = head + std::string(size - head.size() - 4, 'x') + "\r\n\r\n";
    EXPECT_EQ(ask(*dashboard, filled).status, "200 OK") << size;
  }
}

TEST(Dashboard, SlowRequestsAreRefused) {
  const auto dashboard = start({.request_time = 10ms});
  EXPECT_EQ(RawClient(dashboard->url()).rest(), "");  // a silent client gets no answer
  std::string told;
  const auto deadline = std::chrono::steady_clock::now() + RawClient::kPatience;
  while (told.empty() &&
         std::chrono::steady_clock::now() < deadline) {  // this test may be too late
    RawClient client(dashboard->url());
    client.send("GET / HT");
    told = client.rest();
  }
  EXPECT_EQ(parsed(told).status, "408 Request Timeout");
}

TEST(Dashboard, ALateClientSeesTheWholeRun) {
  const auto dashboard = start({.pace = 0ms});
  auto early = watch(*dashboard);
  ASSERT_TRUE(early);
  dashboard->publish("[1]", "");
  EXPECT_EQ(next_event(*early), "[1]");
  dashboard->publish("[1,2]", "");
  EXPECT_EQ(next_event(*early), "[1,2]");
  auto late = watch(*dashboard);
  ASSERT_TRUE(late);
  EXPECT_EQ(next_event(*late), "[1,2]");
  dashboard->publish("[1,2,3]", "");
  EXPECT_EQ(next_event(*late), "[1,2,3]");
  EXPECT_EQ(next_event(*early), "[1,2,3]");
}

TEST(Dashboard, EventsComeAtAPaceAndTheLastComesAlways) {
  auto dashboard = start({.pace = kNever, .farewell = kNever});
  dashboard->publish("[0]", "");
  auto client = watch(*dashboard);
  ASSERT_TRUE(client);
  EXPECT_EQ(next_event(*client), "[0]");
  for (int i = 1; i <= 100; ++i) {
    const std::string document = "[" + std::to_string(i) + "]";
    dashboard->publish(document, "");
    EXPECT_EQ(get(*dashboard, "/record.json").body, document);
  }
  dashboard.reset();
  EXPECT_EQ(client->rest(), "data: [100]\n\n");
}

TEST(Dashboard, AStreamWithoutNewsShowsLife) {
  const auto dashboard = start({.keep_alive = 1ms});
  auto client = watch(*dashboard);
  ASSERT_TRUE(client);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(client->until("\n\n"), ":\n\n");
  }
}

TEST(Dashboard, StreamsAreCountedAndLeaveRoomForOthers) {
  const auto dashboard = start({.streams = 2, .others = 1, .pace = 0ms, .keep_alive = 1ms});
  dashboard->publish("{}", "");
  auto first = watch(*dashboard);
  auto second = watch(*dashboard);
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(watch(*dashboard));
  EXPECT_EQ(get(*dashboard, "/").status, "200 OK");
  first->close();
  auto third = watch_in_the_end(*dashboard);
  EXPECT_EQ(next_event(third), "{}");
  EXPECT_EQ(next_event(*second), "{}");
}

TEST(Dashboard, ManyAtOnceAreAllServed) {
  const auto dashboard = start();
  dashboard->publish("{}", "");
  std::vector<RawClient> clients;
  for (int i = 0; i < 60; ++i) {
    clients.emplace_back(dashboard->url());
  }
  // Clients that came first and send nothing occupy a thread only for as long as a request may
  // take.
  for (auto client = clients.rbegin(); client != clients.rend(); ++client) {
    client->get("/record.json");
  }
  for (RawClient& client : clients) {
    EXPECT_EQ(parsed(client.rest()).body, "{}");
  }
}

TEST(Dashboard, AStalledClientDoesNotBlockOthers) {
  const auto dashboard = start({.streams = 2, .pace = 0ms, .farewell = 1ms});
  auto stalled = watch(*dashboard, 4'096);
  auto lively = watch(*dashboard);
  ASSERT_TRUE(stalled && lively);
  for (int i = 0; i < 3; ++i) {
    const std::string document = std::to_string(i) + kLarge;
    dashboard->publish(document, "");
    EXPECT_TRUE(next_event(*lively) == document);
  }
  EXPECT_EQ(get(*dashboard, "/").status, "200 OK");
}

TEST(Dashboard, AStalledClientIsDisconnected) {
  const auto dashboard =
      start({.streams = 1, .write_time = 20ms, .slowest = 1e9, .keep_alive = 1ms});
  auto stalled = watch(*dashboard, 4'096);
  ASSERT_TRUE(stalled);
  EXPECT_FALSE(watch(*dashboard));
  dashboard->publish(kLarge, "");
  watch_in_the_end(*dashboard);
}

TEST(Dashboard, EndsAtOnceWhenAllHaveTheLastDocument) {
  auto dashboard = start({.farewell = kNever});
  RawClient silent(dashboard->url());
  RawClient slow(dashboard->url());
  slow.send("GET / HT");
  auto first = watch(*dashboard);
  auto second = watch(*dashboard);
  ASSERT_TRUE(first && second);
  dashboard->publish("[\"last\"]", "");
  dashboard.reset();  // would otherwise wait forever
  EXPECT_EQ(next_event(*first), "[\"last\"]");
  EXPECT_EQ(first->rest(), "");
  EXPECT_EQ(next_event(*second), "[\"last\"]");
  EXPECT_EQ(silent.rest(), "");
  EXPECT_EQ(slow.rest(), "");
}

TEST(Dashboard, EndsWhateverClientsDo) {
  auto dashboard = start({.farewell = 10ms});
  auto stalled = watch(*dashboard, 4'096);
  ASSERT_TRUE(stalled);
  dashboard->publish(kLarge, "");
  RawClient other(dashboard->url(), 4'096);
  other.get("/record.json");
  other.until("\r\n\r\n");  // the answer has begun
  dashboard.reset();
  EXPECT_LT(stalled->rest().size(), kLarge.size());
}

TEST(Dashboard, DocumentsFromManyThreadsArriveWholeAndInOrder) {
  constexpr int kThreads = 3;
  auto dashboard = start({.pace = 0ms, .farewell = kNever});
  std::vector<RawClient> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(watch_in_the_end(*dashboard));
  }
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&dashboard, thread] {
      for (int i = 1; i <= 200; ++i) {
        const std::string mark = std::to_string(thread) + ":" + std::to_string(i) + ";";
        dashboard->publish(mark + std::string(5'000, '.') + mark, mark);
      }
    });
  }
  std::vector<std::thread> readers;
  for (RawClient& client : clients) {
    readers.emplace_back([&client] {
      std::map<char, int> last;
      for (std::string event = next_event(client); event != "end"; event = next_event(client)) {
        const std::string mark = event.substr(0, event.find(';') + 1);
        ASSERT_EQ(event, mark + std::string(5'000, '.') + mark);
        const int number = std::atoi(mark.c_str() + 2);
        ASSERT_GT(number, last[mark[0]]);
        last[mark[0]] = number;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  dashboard->publish("end", "");
  dashboard.reset();
  for (std::thread& reader : readers) {
    reader.join();
  }
}

TEST(Dashboard, APortIsNotSharedAndFreeAtOnce) {
  auto dashboard = start();
  const std::string url = dashboard->url();
  const int port = std::atoi(url.c_str() + url.rfind(':') + 1);
  const auto another = Dashboard::start({.port = port}, kPage);
  ASSERT_FALSE(another);
  EXPECT_EQ(another.error().message, "port " + std::to_string(port) + " is already in use");
  auto client = watch(*dashboard);  // its connection lingers
  dashboard.reset();
  const auto next = Dashboard::start({.port = port}, kPage);
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_EQ((*next)->url(), url);
}

TEST(Dashboard, LeavesSIGPIPEAsItWas) {
  void (*const before)(int) = std::signal(SIGPIPE, SIG_DFL);
  {
    const auto dashboard = start({.streams = 1, .pace = 0ms, .keep_alive = 1ms});
    watch(*dashboard)->close();
    watch_in_the_end(*dashboard);  // the first was written to and found gone
  }
  EXPECT_EQ(std::signal(SIGPIPE, before), SIG_DFL);
}

// With many workers the coordinator has more descriptors than select() can handle.
TEST(Dashboard, DescriptorsMayBeMany) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlimit wanted{std::max<rlim_t>(limit.rlim_cur, FD_SETSIZE + 100), limit.rlim_max};
  if (setrlimit(RLIMIT_NOFILE, &wanted) != 0) {
    GTEST_SKIP() << "the limit on descriptors is too low";
  }
  std::vector<int> taken;
  do {
    taken.push_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
  } while (taken.back() >= 0 && taken.back() < FD_SETSIZE);
  EXPECT_EQ(taken.back(), FD_SETSIZE);
  {
    const auto dashboard = start();
    dashboard->publish("{}", "");
    EXPECT_EQ(get(*dashboard, "/").body, kPage);
    auto client = watch(*dashboard);
    ASSERT_TRUE(client);
    EXPECT_EQ(next_event(*client), "{}");
  }
  for (const int descriptor : taken) {
    close(descriptor);
  }
  setrlimit(RLIMIT_NOFILE, &limit);
}

TEST(Dashboard, ChildrenGetNoneOfItsSockets) {
  const auto dashboard = start();
  auto client = watch(*dashboard);
  int sockets = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int descriptor = std::atoi(entry.path().filename().c_str());
    struct stat status {};
    if (fstat(descriptor, &status) == 0 && S_ISSOCK(status.st_mode)) {
      ++sockets;
      EXPECT_NE(fcntl(descriptor, F_GETFD) & FD_CLOEXEC, 0) << descriptor;
    }
  }
  EXPECT_GE(sockets, 3);  // the listener and both ends of the stream
}

}  // namespace
}  // namespace motley
