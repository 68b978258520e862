// The exceptions of the public API. If a program does not catch them, it ends with one line on
// stderr and the exit code below (motley/session.h).
#pragma once

#include <exception>
#include <stdexcept>
#include <string>

namespace motley {

// The user's input is wrong: an option, a flag, an environment variable. what() says what was found
// and what is expected. Exit code 2.
class Refused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A participant of the run failed. what() names it and says why. Exit code 1.
class RunFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The first line of an exception's message. The rest (torch appends stack traces) is not for users.
inline std::string reason_of(const std::exception& exception) {
  const std::string whole = exception.what();
  return whole.substr(0, whole.find('\n'));
}

// The same for anything that was thrown.
inline std::string reason_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& exception) {
    return reason_of(exception);
  } catch (...) {
    return "an exception that is not a std::exception";
  }
}

}  // namespace motley
