// Trains your own model on your own data, on as many processes as you start:
//
//   ./01_own_model                              one process
//   motley launch -n 4 ./01_own_model           four processes on this machine
//   mpirun -n 4 ./01_own_model                  or srun, or torchrun --no_python
#include <motley/trainer.h>
#include <torch/torch.h>

#include <cstdio>

struct Net : torch::nn::Module {
  torch::nn::Linear hidden{register_module("hidden", torch::nn::Linear(20, 64))};
  torch::nn::Linear out{register_module("out", torch::nn::Linear(64, 3))};
  torch::Tensor forward(const torch::Tensor& x) { return out(torch::relu(hidden(x))); }
};

// Three clouds of points; sample i is the same in every process.
struct Clouds : torch::data::datasets::Dataset<Clouds> {
  torch::data::Example<> get(std::size_t index) override {
    const auto label = static_cast<std::int64_t>(index % 3);
    auto generator = at::detail::createCPUGenerator(1 + index);
    auto point = torch::randn({20}, generator);
    point[label] += 3.0;
    return {point, torch::tensor(label)};
  }
  torch::optional<std::size_t> size() const override { return 3000; }
};

int main(int argc, char** argv) {
  motley::Session session(argc, argv);
  torch::manual_seed(1);
  Net model;
  torch::optim::SGD optimizer(model.parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  auto data = Clouds().map(torch::data::transforms::Stack<>());
  const auto test = data.get_batch(std::vector<std::size_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});

  motley::Trainer trainer(session, model, optimizer, data, {.batch = 96, .epochs = 3});
  trainer.evaluate_with([&] {
    const auto scores = model.forward(test.data);
    return motley::Evaluation{
        torch::cross_entropy_loss(scores, test.target).item<double>(),
        scores.argmax(1).eq(test.target).to(torch::kFloat).mean().item<double>()};
  });
  trainer.fit([&](const auto& batch) {
    return torch::cross_entropy_loss(model.forward(batch.data), batch.target);
  });

  if (session.is_main()) {
    std::printf("%lld samples, loss %.4f, accuracy %.2f\n",
                static_cast<long long>(trainer.result().samples), *trainer.result().loss,
                *trainer.result().accuracy);
  }
  return session.exit_code();
}
