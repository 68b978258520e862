// How a run ends that cannot be, or cannot go on. Both are thrown by what programs call; caught by
// nobody, they end the program with one line and an exit code (motley/session.h).
#pragma once

#include <exception>
#include <stdexcept>
#include <string>

namespace motley {

// What a person gave is wrong: an option, a flag, a variable of the environment. what() says what,
// and what would be right. Exit code 2.
class Refused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A participant failed. what() names it and says why. Exit code 1.
class RunFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The first line of an exception's message: what follows, as torch's stack traces, is not for
// people.
inline std::string reason_of(const std::exception& exception) {
  const std::string whole = exception.what();
  return whole.substr(0, whole.find('\n'));
}

// Likewise, whatever was thrown.
inline std::string reason_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& exception) {
    return reason_of(exception);
  } catch (...) {
    return "something was thrown that is no std::exception";
  }
}

}  // namespace motley
