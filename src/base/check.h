// MOTLEY_CHECK(condition, "format", ...): an invariant of our own code. It is on in release builds
// too: a broken invariant prints where and why, then aborts. Bad input is never checked with it.
#pragma once

#include <fmt/format.h>

#include <string>

namespace motley {

[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const std::string& message);

}  // namespace motley

#define MOTLEY_CHECK(condition, ...)                                                      \
  do {                                                                                    \
    if (!(condition)) [[unlikely]] {                                                      \
      ::motley::check_failed(__FILE__, __LINE__, #condition, ::fmt::format(__VA_ARGS__)); \
    }                                                                                     \
  } while (false)
