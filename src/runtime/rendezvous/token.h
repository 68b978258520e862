// The token: a secret that the processes of a run share.
#pragma once

#include <string>

namespace motley {

// 128 random bits, as text.
std::string random_token();

// The environment variable that holds the token of a run.
inline constexpr const char* kTokenVariable = "MOTLEY_TOKEN";
std::string token_of_environment();  // "" if not set

}  // namespace motley
