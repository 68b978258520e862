#include "motley_contender.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "fabric/driver.h"
#include "fabric/tcp.h"
#include "runtime/real_node.h"
#include "sync/collective.h"

namespace motley::bench {
namespace {

// The product's own node, fabric and collective. The ports meet through files, as Gloo's do.
class MotleyContender final : public Contender {
 public:
  MotleyContender(int rank, int size, const std::filesystem::path& meeting)
      : node_(driver_, rank, size),
        fabric_(driver_, node_, {.self = rank, .token = "bench"}),
        collective_(node_, Channel::kAllReduce, all_ranks(size)) {
    node_.attach(fabric_);
    const auto part = meeting / fmt::format("motley.{}.part", rank);
    std::ofstream(part) << fabric_.endpoint().port << ' ' << fabric_.endpoint().local;
    std::filesystem::rename(part, meeting / fmt::format("motley.{}", rank));
    for (int peer = 0; peer < size; ++peer) {
      fabric_.set_peer(peer, read_endpoint(meeting / fmt::format("motley.{}", peer)));
    }
  }
  ~MotleyContender() override { fabric_.close(1.0); }

  std::string name() const override { return "motley"; }
  void all_reduce(std::span<float> values) override {
    collective_.sum({values.data(), values.size()});
  }

 private:
  static Endpoint read_endpoint(const std::filesystem::path& file) {
    while (!std::filesystem::exists(file)) {
      std::this_thread::yield();
    }
    Endpoint endpoint{"127.0.0.1"};
    std::ifstream(file) >> endpoint.port >> endpoint.local;
    return endpoint;
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
