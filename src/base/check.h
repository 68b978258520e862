// MOTLEY_CHECK(condition, "format", ...) checks an invariant of motley's own code, in release
// builds too. If it is broken, it prints where and why, and aborts. Never use it for bad input.
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
