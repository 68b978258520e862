// The stream of documents: /events.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "tests/dashboard_client.h"

namespace motley::dashboard_test {
namespace {

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

}  // namespace
}  // namespace motley::dashboard_test
