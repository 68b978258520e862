#include "state/sha256.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include "base/check.h"

namespace motley {

struct Sha256::Context {
  Context() : hash(EVP_MD_CTX_new()) {}
  ~Context() { EVP_MD_CTX_free(hash); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  EVP_MD_CTX* const hash;
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  MOTLEY_CHECK(EVP_DigestInit_ex(context_->hash, EVP_sha256(), nullptr) == 1, "SHA-256 fails");
}
Sha256::~Sha256() = default;

void Sha256::add(std::span<const std::byte> bytes) {
  MOTLEY_CHECK(EVP_DigestUpdate(context_->hash, bytes.data(), bytes.size()) == 1, "SHA-256 fails");
}

std::string Sha256::digits() {
  unsigned char raw[32];
  MOTLEY_CHECK(EVP_DigestFinal_ex(context_->hash, raw, nullptr) == 1, "SHA-256 fails");
  return fmt::format("{:02x}", fmt::join(raw, ""));
}

std::string sha256(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.digits();
}

}  // namespace motley
