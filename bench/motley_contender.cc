#include "motley_contender.h"

#include "bench_node.h"
#include "motley/sync/collective.h"

namespace motley::bench {
namespace {

class MotleyContender final : public Contender {
 public:
  MotleyContender(int rank, int size, const std::string& meeting)
      : node_(rank, size, BenchNode::Coordinator::kNone, meeting),
        collective_(node_.node(), Channel::kMethod, all_ranks(size)) {}

  std::string name() const override { return "motley"; }
  void all_reduce(std::span<float> values) override {
    collective_.sum({values.data(), values.size()});
  }

 private:
  BenchNode node_;
  Collective collective_;
};

}  // namespace

std::unique_ptr<Contender> make_motley_contender(int rank, int size, std::string rendezvous_dir) {
  return std::make_unique<MotleyContender>(rank, size, rendezvous_dir);
}

}  // namespace motley::bench
