#include "gloo_contender.h"

#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

namespace motley::bench {
namespace {

class GlooContender final : public Contender {
 public:
  GlooContender(int rank, int size, const std::string& rendezvous_dir)
      : device_(gloo::transport::tcp::CreateDevice(gloo::transport::tcp::attr("127.0.0.1"))) {
    auto context = std::make_shared<gloo::rendezvous::Context>(rank, size);
    gloo::rendezvous::FileStore store(rendezvous_dir);
    context->connectFullMesh(store, device_);
    context_ = std::move(context);
  }

  std::string name() const override { return "gloo"; }

  // The ring is gloo's own choice and what PyTorch uses; options are made per call, as in PyTorch.
  void all_reduce(std::span<float> values) override {
    gloo::AllreduceOptions options(context_);
    options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
    options.setReduceFunction(
        static_cast<void (*)(void*, const void*, const void*, std::size_t)>(&gloo::sum<float>));
    options.setOutput(values.data(), values.size());
    gloo::allreduce(options);
  }

 private:
  std::shared_ptr<gloo::transport::Device> device_;
  std::shared_ptr<gloo::Context> context_;
};

}  // namespace

std::unique_ptr<Contender> make_gloo_contender(int rank, int size, std::string rendezvous_dir) {
  return std::make_unique<GlooContender>(rank, size, rendezvous_dir);
}

}  // namespace motley::bench
