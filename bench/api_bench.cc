// The overhead of the API: a step of mlp through motley::Trainer with one worker, compared with the
// same step in a hand-written libtorch loop.
//
//   api_bench [--quick] [--json FILE]
//
// Both run in one process, some steps of each in turns, with the same samples and arithmetic. Wall
// time and the processor time of the whole process are measured: the coordinator's thread is part
// of the cost of a step.
#include <motley/trainer.h>
#include <torch/torch.h>

#include <chrono>
#include <ctime>

#include "bench_main.h"

namespace motley::bench {
namespace {

constexpr std::int64_t kSamples = 8192;
constexpr std::int64_t kBatch = 256;
constexpr int kTurn = 40;  // steps per turn

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}
double wall_seconds() {
  const std::chrono::duration<double> now = std::chrono::steady_clock::now().time_since_epoch();
  return now.count();
}

struct Learner {
  torch::nn::Sequential model{torch::nn::Linear(784, 128), torch::nn::ReLU(),
                              torch::nn::Linear(128, 10)};
  torch::optim::SGD optimizer{model->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9)};
};

// Per step, in microseconds.
struct Took {
  std::vector<double> wall;
  std::vector<double> cpu;
};

template <class Step>
void take_turn(Took& took, const Step& step) {
  const double wall = wall_seconds();
  const double cpu = cpu_seconds();
  for (int i = 0; i < kTurn; ++i) {
    step();
  }
  took.wall.push_back(1e6 * (wall_seconds() - wall) / kTurn);
  took.cpu.push_back(1e6 * (cpu_seconds() - cpu) / kTurn);
}

// Compares each turn with the one before it, so that disturbances affect both.
double added_percent(const std::vector<double>& before, const std::vector<double>& after) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < before.size(); ++i) {
    ratios.push_back(after[i] / before[i]);
  }
  return 100 * (median(ratios) - 1);
}

Rows compare(const Took& by_hand, const Took& by_api) {
  const double wall = added_percent(by_hand.wall, by_api.wall);
  const double cpu = added_percent(by_hand.cpu, by_api.cpu);
  fmt::print(
      "a step of mlp: {:.0f} us by hand, {:.0f} us through the API: {:+.2f} % (processor "
      "time {:+.2f} %)\n",
      median(by_hand.wall), median(by_api.wall), wall, cpu);
  return Rows::array({{{"bench", "api"},
                       {"by_hand_us", median(by_hand.wall)},
                       {"by_api_us", median(by_api.wall)},
                       {"added_percent", wall},
                       {"added_cpu_percent", cpu}}});
}

Rows measure(bool quick) {
  const int turns = quick ? 20 : 100;
  at::set_num_threads(1);
  const auto features = torch::randn({kSamples, 784});
  const auto labels = torch::randint(10, {kSamples}, torch::kLong);
  const auto batch_of = [&](const std::vector<std::int64_t>& places) {
    const auto index = torch::tensor(places);
    return std::pair(features.index_select(0, index), labels.index_select(0, index));
  };

  Learner plain;
  std::vector<std::int64_t> places(kBatch);
  const auto order = torch::randperm(kSamples, torch::kLong);  // like a shuffling data loader
  std::int64_t at = 0;
  const auto plain_step = [&] {
    const auto* next = order.data_ptr<std::int64_t>() + at;
    std::copy(next, next + kBatch, places.begin());
    at = (at + kBatch) % kSamples;
    const auto batch = batch_of(places);
    plain.optimizer.zero_grad();
    auto loss = torch::cross_entropy_loss(plain.model->forward(batch.first), batch.second);
    loss.backward();
    plain.optimizer.step();
  };

  Learner ours;
  char name[] = "api_bench";
  char* arguments[] = {name, nullptr};
  char** argv = arguments;
  int argc = 1;
  Session session(argc, argv);
  const auto data = samples(kSamples, [&](std::span<const SampleIndex> indices) {
    return batch_of({indices.begin(), indices.end()});
  });
  Trainer trainer(session, ours.model, ours.optimizer, data,
                  {.batch = kBatch, .steps = (turns + 1) * kTurn, .eval_every = 0});
  const auto our_step = [&] {
    auto batch = *trainer.begin();
    auto loss = torch::cross_entropy_loss(ours.model->forward(batch.first), batch.second);
    loss.backward();
    trainer.finish(loss);
  };

  Took warm_up;
  take_turn(warm_up, plain_step);
  take_turn(warm_up, our_step);
  Took by_hand;
  Took by_api;
  for (int turn = 0; turn < turns; ++turn) {
    take_turn(by_hand, plain_step);
    take_turn(by_api, our_step);
  }
  trainer.begin();  // the run is over
  return compare(by_hand, by_api);
}

}  // namespace
}  // namespace motley::bench

int main(int argc, char** argv) {
  return motley::bench::bench_main(argc, argv, "api_bench", motley::bench::measure);
}
