// The cut of a checkpoint: copying the state of a worker with a model of 100 MB and Adam, compared
// with a memory copy of as many bytes.
//
//   state_bench [--quick] [--json FILE]
//
// Both are into new memory, as a checkpoint's state is, and take turns in one process. A copy into
// memory that was used before is shown beside them.
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>

#include "api/module_replica.h"
#include "bench_main.h"
#include "state/state.h"

namespace motley::bench {
namespace {

constexpr std::int64_t kWidth = 1024;
constexpr int kLayers = 24;  // of 4.2 MB each

double ms_of(const std::function<void()>& body) {
  const auto began = std::chrono::steady_clock::now();
  body();
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
  return took.count();
}

torch::nn::Sequential large_model() {
  torch::nn::Sequential model;
  for (int i = 0; i < kLayers; ++i) {
    model->push_back(torch::nn::Linear(kWidth, kWidth));
    model->push_back(torch::nn::BatchNorm1d(kWidth));
  }
  return model;
}

// One step, so that the optimizer has its state.
void take_step(torch::nn::Sequential& model, ModuleReplica& replica) {
  replica.clear();
  model->forward(torch::randn({2, kWidth})).sum().backward();
  replica.take_gradients(2);
  replica.apply(0.5);
}

std::size_t bytes_in(const State& state) {
  std::size_t bytes = 0;
  for (const auto& each : state.tensors) {
    bytes += each.second.bytes.size();
  }
  return bytes;
}

struct Turns {
  std::vector<double> state;
  std::vector<double> copy;
  std::vector<double> warm_copy;
  std::vector<double> ratios;
};

Turns take_turns(ModuleReplica& replica, std::size_t bytes, int turns) {
  Turns took;
  const std::vector<std::byte> from(bytes, std::byte{1});
  std::vector<std::byte> warm(bytes);
  for (int turn = 0; turn < turns; ++turn) {
    std::unique_ptr<std::byte[]> copy;
    took.copy.push_back(ms_of([&] {
      copy.reset(new std::byte[bytes]);  // not initialised
      std::memcpy(copy.get(), from.data(), bytes);
    }));
    copy.reset();
    State state;
    took.state.push_back(ms_of([&] { state = state_of(replica); }));
    took.ratios.push_back(took.state.back() / took.copy.back());
    took.warm_copy.push_back(ms_of([&] { std::memcpy(warm.data(), from.data(), bytes); }));
  }
  return took;
}

Rows measure(bool quick) {
  at::set_num_threads(1);
  auto model = large_model();
  torch::optim::Adam optimizer(model->parameters());
  ModuleReplica replica(*model, optimizer);
  take_step(model, replica);
  const std::size_t bytes = bytes_in(state_of(replica));
  const Turns took = take_turns(replica, bytes, quick ? 5 : 31);
  const auto [least, greatest] = std::minmax_element(took.ratios.begin(), took.ratios.end());
  fmt::print(
      "the state of a model of {:.0f} MB with Adam, {:.0f} MB: {:.1f} ms; a memory copy {:.1f} ms "
      "(into memory used before {:.1f} ms): {:.2f} times ({:.2f} to {:.2f})\n",
      static_cast<double>(replica.parameters().size) * 4e-6, static_cast<double>(bytes) * 1e-6,
      median(took.state), median(took.copy), median(took.warm_copy), median(took.ratios), *least,
      *greatest);
  return Rows::array({{{"bench", "state"},
                       {"bytes", bytes},
                       {"state_ms", median(took.state)},
                       {"copy_ms", median(took.copy)},
                       {"warm_copy_ms", median(took.warm_copy)},
                       {"times", median(took.ratios)},
                       {"least", *least},
                       {"greatest", *greatest}}});
}

}  // namespace
}  // namespace motley::bench

int main(int argc, char** argv) {
  return motley::bench::bench_main(argc, argv, "state_bench", motley::bench::measure);
}
