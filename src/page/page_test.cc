#include "page/page.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "page/parts.h"
#include "tests/browser/sample_runs.h"

namespace motley {
namespace {

// The text between the first `open` and the next `close`.
std::string between(const std::string& page, const std::string& open, const std::string& close) {
  const std::size_t from = page.find(open);
  EXPECT_NE(from, std::string::npos) << open;
  const std::size_t begin = from + open.size();
  return page.substr(begin, page.find(close, begin) - begin);
}

std::string data_of(const std::string& page) {
  return between(page, "<script type=\"application/json\" id=\"runs\">", "</script>");
}

// The page without the embedded files, which are tested in a browser.
std::string frame_of(std::string page) {
  for (const std::string_view part : {kStyle, kChartScript, kPageScript}) {
    const std::size_t at = page.find(part);
    EXPECT_NE(at, std::string::npos);
    page.erase(at, part.size());
  }
  return page;
}

int count(const std::string& text, const std::string& what) {
  int times = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++times;
  }
  return times;
}

TEST(Page, HoldsTheDocumentsAsTheyWere) {
  const auto first = sample_run({.name = "ünïcode 名"});
  const auto second = failed_run("gone");
  const auto data = nlohmann::ordered_json::parse(data_of(report_page({first, second}, "two")));
  EXPECT_EQ(data, nlohmann::ordered_json({first, second}));
  EXPECT_EQ(data_of(live_page("live")), "[]");
}

TEST(Page, EscapesUntrustedText) {
  const std::string page = report_page({hostile_run(), hostile_run()}, kHostile);
  const std::string data = data_of(page);
  EXPECT_EQ(data.find_first_of("<>&"), std::string::npos);
  for (const char c : data) {
    ASSERT_LT(static_cast<unsigned char>(c), 0x80);  // so U+2028 and U+2029 do not occur either
  }
  const auto runs = nlohmann::ordered_json::parse(data);
  EXPECT_EQ(runs.at(1).at("name"), kHostile);
  EXPECT_EQ(runs.at(0).at("job").get<std::string>().substr(0, 9), "</script>");
  const std::string frame = frame_of(page);
  EXPECT_EQ(count(frame, "<script"), 3);
  EXPECT_EQ(count(frame, "</script"), 3);
  EXPECT_EQ(count(frame, "<img"), 0);
  EXPECT_EQ(count(frame, "<!--"), 0);
  EXPECT_EQ(between(page, "<title>", "</title>").substr(0, 16), "&#60;/script&#62");
  EXPECT_EQ(between(page, "data-title=\"", "\">").find('"'), std::string::npos);
}

// Scripts and styles are allowed by hash only; nothing else may be loaded, from anywhere.
TEST(Page, NeedsNothingBesideItself) {
  for (const bool live : {false, true}) {
    const std::string page = live ? live_page("x") : report_page({sample_run({})}, "x");
    const std::string frame = frame_of(page);
    const std::regex fetches("(src|href|action|poster|data)=[\"']?(?!data:)[^\"' >]+");
    EXPECT_FALSE(std::regex_search(frame, fetches));
    const std::string style(kStyle);
    EXPECT_EQ(style.find("url("), std::string::npos);
    EXPECT_EQ(style.find("@import"), std::string::npos);
    const std::string policy = between(page, "Content-Security-Policy\" content=\"", "\">");
    EXPECT_EQ(policy.find("default-src 'none'"), 0u) << policy;
    EXPECT_EQ(policy.find("unsafe"), std::string::npos) << policy;
    EXPECT_EQ(policy.find("http"), std::string::npos) << policy;
    EXPECT_EQ(count(policy, "'sha256-"), 3) << policy;
    EXPECT_EQ(policy.find("connect-src 'self'") != std::string::npos, live) << policy;
    EXPECT_EQ(between(page, "data-feed=\"", "\"") == "events", live);
  }
}

// The scripts put text into the page, never markup, and never execute text.
TEST(Page, MakesNoMarkupOfText) {
  const std::string script(kPageScript);
  for (const char* way : {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(",
                          "new Function", "setTimeout('", "DOMParser"}) {
    EXPECT_EQ(script.find(way), std::string::npos) << way;
  }
}

// 64 workers, 2,000 steps.
TEST(Page, OfManyWorkersIsSmall) {
  EXPECT_LT(report_page({sample_run({.workers = 64})}, "large").size(), 5'000'000u);
  EXPECT_LT(live_page("live").size(), 300'000u);
}

}  // namespace
}  // namespace motley
