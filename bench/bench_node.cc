#include "bench_node.h"

#include <fmt/format.h>

#include <fstream>
#include <thread>

namespace motley::bench {
namespace {

std::filesystem::path file_of(const std::filesystem::path& meeting, Rank rank) {
  return meeting / fmt::format("motley.{}", rank);
}

Endpoint read_endpoint(const std::filesystem::path& file) {
  while (!std::filesystem::exists(file)) {
    std::this_thread::yield();
  }
  Endpoint endpoint{"127.0.0.1"};
  std::ifstream(file) >> endpoint.port >> endpoint.local;
  return endpoint;
}

}  // namespace

BenchNode::BenchNode(Rank rank, int size, Coordinator coordinator,
                     const std::filesystem::path& meeting)
    : node_(driver_, rank, size), fabric_(driver_, node_, {.self = rank, .token = "bench"}) {
  node_.attach(fabric_);
  const auto part = meeting / fmt::format("motley.{}.part", rank);
  std::ofstream(part) << fabric_.endpoint().port << ' ' << fabric_.endpoint().local;
  std::filesystem::rename(part, file_of(meeting, rank));
  for (Rank peer = coordinator == Coordinator::kPresent ? kCoordinator : 0; peer < size; ++peer) {
    fabric_.set_peer(peer, read_endpoint(file_of(meeting, peer)));
  }
}

}  // namespace motley::bench
