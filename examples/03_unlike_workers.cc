// Workers of different speeds: one computes at a quarter of the others' speed. First every worker
// gets the same number of samples, and all run at the pace of the slow one. Then motley measures
// the speeds and gives each worker what it can compute in the same time (Chao et al.).
//
//   motley launch -n 4 ./03_unlike_workers
//
// One machine emulates them: a worker of speed s takes `unit / s` seconds per sample. On machines
// that really differ, do not set `cluster`.
#include <motley/trainer.h>
#include <torch/torch.h>

#include <cstdio>

double samples_per_second(motley::Session& session, const std::string& allocation) {
  torch::manual_seed(1);
  torch::nn::Sequential model(torch::nn::Linear(20, 32), torch::nn::ReLU(),
                              torch::nn::Linear(32, 2));
  torch::optim::Adam optimizer(model->parameters(), 1e-3);

  // A data set of your own: any function from sample indices to a batch.
  const auto points = torch::randn({4000, 20});
  const auto labels = points.sum(1).gt(0).to(torch::kLong);
  const auto data = motley::samples(4000, [&](std::span<const motley::SampleIndex> places) {
    const auto index = torch::tensor(std::vector<std::int64_t>(places.begin(), places.end()));
    return std::pair(points.index_select(0, index), labels.index_select(0, index));
  });

  motley::Options options{.batch = 80, .epochs = 1};
  options.strategy.allocation = allocation;
  options.cluster.unit = 0.001;
  options.cluster.speeds.assign(static_cast<std::size_t>(session.size()), 1);
  options.cluster.speeds.back() = 0.25;

  motley::Trainer trainer(session, model, optimizer, data, options);
  trainer.fit([&](const auto& batch) {
    return torch::cross_entropy_loss(model->forward(batch.first), batch.second);
  });
  return static_cast<double>(trainer.result().samples) / trainer.result().seconds;
}

int main(int argc, char** argv) {
  motley::Session session(argc, argv);
  const double equal = samples_per_second(session, "equal");
  const double adaptive = samples_per_second(session, "adaptive");
  if (session.is_main()) {
    std::printf("equal shares     %5.0f samples/s\n", equal);
    std::printf("adaptive shares  %5.0f samples/s, %.1f times as many\n", adaptive,
                adaptive / equal);
  }
  return session.exit_code();
}
