// A token: what the processes of a run share, and strangers do not have.
#pragma once

#include <string>

namespace motley {

// 128 bits that nobody can guess, as text.
std::string random_token();

// Where a process finds the one of its run.
inline constexpr const char* kTokenVariable = "MOTLEY_TOKEN";
std::string token_of_environment();  // "": none

}  // namespace motley
