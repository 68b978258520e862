#include "motley_contender.h"

#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "fabric/driver.h"
#include "fabric/tcp.h"
#include "runtime/real_node.h"
#include "sync/collective.h"

namespace motley::bench {
namespace {

std::vector<Rank> all_ranks(int size) {
  std::vector<Rank> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

// The product's own node, fabric and collective. The ports meet through files, as Gloo's do.
class MotleyContender final : public Contender {
 public:
  MotleyContender(int rank, int size, const std::filesystem::path& meeting)
      : node_(driver_, rank, size),
        fabric_(driver_, node_, {.self = rank, .token = "bench"}),
        collective_(node_, Channel::kAllReduce, all_ranks(size)) {
    node_.attach(fabric_);
    const auto part = meeting / fmt::format("motley.{}.part", rank);
    std::ofstream(part) << fabric_.port();
    std::filesystem::rename(part, meeting / fmt::format("motley.{}", rank));
    for (int peer = 0; peer < size; ++peer) {
      fabric_.set_peer(peer, {"127.0.0.1", read_port(meeting / fmt::format("motley.{}", peer))});
    }
  }
  ~MotleyContender() override { fabric_.close(1.0); }

  std::string name() const override { return "motley"; }
  void all_reduce(std::span<float> values) override {
    collective_.sum({values.data(), values.size()});
  }

 private:
  static std::uint16_t read_port(const std::filesystem::path& file) {
    while (!std::filesystem::exists(file)) {
      std::this_thread::yield();
    }
    std::uint16_t port = 0;
    std::ifstream(file) >> port;
    return port;
  }

  Driver driver_;
  RealNode node_;
  TcpFabric fabric_;
  Collective collective_;
};

}  // namespace

std::unique_ptr<Contender> make_motley_contender(int rank, int size, std::string rendezvous_dir) {
  return std::make_unique<MotleyContender>(rank, size, rendezvous_dir);
}

}  // namespace motley::bench
