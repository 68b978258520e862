#include "motley/sync/parameter_server/held_versions.h"

#include <algorithm>
#include <functional>

namespace motley {

void HeldVersions::set(std::size_t begin, std::size_t count, std::int64_t version) {
  const std::size_t end = begin + count;
  std::vector<Piece> all;
  const auto add = [&](Piece piece) {
    const std::size_t last = all.empty() ? 0 : all.back().end;
    if (piece.end <= last) {
      return;
    }
    if (!all.empty() && all.back().version == piece.version) {
      all.back().end = piece.end;
    } else {
      all.push_back(piece);
    }
  };
  for (const Piece& piece : pieces_) {
    add({std::min(piece.end, begin), piece.version});
  }
  add({end, version});
  for (const Piece& piece : pieces_) {
    add(piece);
  }
  pieces_ = std::move(all);
}

void HeldVersions::state(Archive& archive) {
  std::vector<std::size_t> ends;
  std::vector<std::int64_t> versions;
  for (const Piece& piece : pieces_) {
    ends.push_back(piece.end);
    versions.push_back(piece.version);
  }
  archive("ends", ends);
  archive("versions", versions);
  const bool ascend = std::ranges::adjacent_find(ends, std::greater_equal{}) == ends.end();
  if (ends.size() != versions.size() || !ascend) {
    throw StateError("the versions of a worker's copy of the servers' numbers are damaged");
  }
  pieces_.clear();
  for (std::size_t i = 0; i < ends.size(); ++i) {
    pieces_.push_back({ends[i], versions[i]});
  }
}

}  // namespace motley
