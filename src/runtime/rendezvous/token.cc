#include "runtime/rendezvous/token.h"

#include <openssl/rand.h>

#include <array>
#include <cstdlib>

#include "base/check.h"

namespace motley {

std::string random_token() {
  std::array<unsigned char, 16> bytes{};
  MOTLEY_CHECK(RAND_bytes(bytes.data(), bytes.size()) == 1, "no random numbers");
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

std::string token_of_environment() {
  const char* token = std::getenv(kTokenVariable);
  return token ? token : "";
}

}  // namespace motley
