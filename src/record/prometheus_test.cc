// Escaping and numbers. tests/readers checks the whole text with Prometheus's own parser.
#include "record/prometheus.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdlib>
#include <limits>

namespace motley {
namespace {

std::string unescaped(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      ++i;
      plain += text[i] == 'n' ? '\n' : text[i];
    } else {
      plain += text[i];
    }
  }
  return plain;
}

TEST(Prometheus, LabelsAreEscaped) {
  EXPECT_EQ(escape_label("plain"), "plain");
  EXPECT_EQ(escape_label("a\\b\"c\nd"), "a\\\\b\\\"c\\nd");
  EXPECT_EQ(escape_label("\\n"), "\\\\n");
  EXPECT_EQ(escape_label("π \t}"), "π \t}");
}

RC_GTEST_PROP(Prometheus, EscapingLosesNothingAndStaysWithinTheQuotes, ()) {
  const auto value = *rc::gen::container<std::string>(rc::gen::element('a', '\\', '"', '\n', 'n'));
  const std::string escaped = escape_label(value);
  RC_ASSERT(unescaped(escaped) == value);
  RC_ASSERT(escaped.find('\n') == std::string::npos);
  for (std::size_t i = 0; i < escaped.size(); ++i) {
    i += escaped[i] == '\\' ? 1 : 0;
    RC_ASSERT(i < escaped.size());
    const bool is_escaped = i > 0 && escaped[i - 1] == '\\';  // RC_ASSERT evaluates both sides
    RC_ASSERT(escaped[i] != '"' || is_escaped);
  }
}

TEST(Prometheus, NumbersThatAreNotFinite) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(sample_value(std::numeric_limits<double>::quiet_NaN()), "NaN");
  EXPECT_EQ(sample_value(-std::numeric_limits<double>::quiet_NaN()), "NaN");
  EXPECT_EQ(sample_value(infinity), "+Inf");
  EXPECT_EQ(sample_value(-infinity), "-Inf");
}

RC_GTEST_PROP(Prometheus, NumbersReadBackAsTheyWere, (double value)) {
  RC_ASSERT(std::strtod(sample_value(value).c_str(), nullptr) == value);
}

TEST(Prometheus, WhatIsNotKnownIsLeftOut) {
  RunFigures figures;
  const std::string bare = prometheus_text(figures);
  EXPECT_EQ(bare.find("loss"), std::string::npos);
  EXPECT_EQ(bare.find("worker_"), std::string::npos);
  figures.test = Metric{};
  figures.train_loss = 1.5;
  figures.workers[0] = {};
  const std::string more = prometheus_text(figures);
  EXPECT_NE(more.find("\nmotley_test_loss 0\n"), std::string::npos);
  EXPECT_NE(more.find("\nmotley_train_loss 1.5\n"), std::string::npos);
  EXPECT_NE(more.find("\nmotley_worker_steps_total{worker=\"0\"} 0\n"), std::string::npos);
}

}  // namespace
}  // namespace motley
