// What an exception says that has left an activity.
#pragma once

#include <exception>
#include <string>

#include "motley/node/node.h"

namespace motley {

inline std::string describe(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "an exception that is not a std::exception";
  }
}

inline bool is_interruption(const std::exception_ptr& error) {
  try {
    if (error) {
      std::rethrow_exception(error);
    }
  } catch (const Interrupted&) {
    return true;
  } catch (...) {
  }
  return false;
}

}  // namespace motley
