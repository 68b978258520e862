// Shortens torch's error messages to the one line that users need.
#pragma once

#include <exception>
#include <string>

namespace motley {

// torch's message without stack traces; for a TorchScript traceback, its last line.
std::string short_reason(const std::exception& error);

// Throws std::runtime_error("<what>: <short reason>").
[[noreturn]] void throw_short(const char* what, const std::exception& error);

// Runs `body` and shortens the message of anything it throws.
template <class Body>
auto with_short_errors(const char* what, const Body& body) {
  try {
    return body();
  } catch (const std::exception& error) {
    throw_short(what, error);
  }
}

}  // namespace motley
