// HeldVersions: how new a worker's copy of the servers' numbers is, number by number. Each server
// counts versions of its own numbers: a commit that it applies makes a new one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "motley/state/archive.h"

namespace motley {

class HeldVersions {
 public:
  // A newcomer's numbers are a mean of models: no server ever had them.
  static constexpr std::int64_t kNone = -1;

  // Numbers up to `end`, from the end of the piece before.
  struct Piece {
    std::size_t end = 0;
    std::int64_t version = 0;

    friend bool operator==(const Piece&, const Piece&) = default;
  };

  HeldVersions() = default;
  HeldVersions(std::size_t size, std::int64_t version) : pieces_{{size, version}} {}

  // A server has answered with this version of so many numbers.
  void set(std::size_t begin, std::size_t count, std::int64_t version);
  std::size_t size() const { return pieces_.empty() ? 0 : pieces_.back().end; }
  const std::vector<Piece>& pieces() const { return pieces_; }

  // Throws StateError if pieces are not in order.
  void state(Archive& archive);

 private:
  std::vector<Piece> pieces_;
};

}  // namespace motley
