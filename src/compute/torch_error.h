// What torch throws, cut down to the one line that a person needs.
#pragma once

#include <exception>
#include <string>

namespace motley {

// torch's message without stack traces; of a TorchScript traceback, its last line.
std::string short_reason(const std::exception& error);

}  // namespace motley
