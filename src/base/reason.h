// Why something failed, in words for people who run the program. reason_of()
// (motley/base/failure.h) gives the exception's own words, which are none when memory is short.
#pragma once

#include <exception>
#include <string>

namespace motley {

// "out of memory (this process may use 512 MB: ulimit -v)"
std::string plain_reason(const std::exception_ptr& error);

// " (this process may use 512 MB: ulimit -v)", or nothing if its memory is not limited.
std::string memory_limit();

}  // namespace motley
