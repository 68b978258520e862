// A run that can be killed at any time and goes on where its last checkpoint is:
//
//   motley launch -n 4 ./06_resume --motley-out run       press Ctrl-C, kill it, pull the plug
//   motley launch -n 4 ./06_resume --motley-resume run    ends as if nothing had happened
//   ./06_resume --load run                                uses the model of the run
//
// A checkpoint has the module, the optimizer, torch's random numbers and the position in the data.
// The program adds what is its own: here a running mean of the weights, which often generalises
// better, a learning-rate schedule, and how often it has cut a gradient.
#include <motley/load_model.h>
#include <motley/trainer.h>
#include <torch/torch.h>

#include <cstdio>
#include <cstring>

struct Net : torch::nn::Module {
  torch::nn::Linear hidden{register_module("hidden", torch::nn::Linear(20, 64))};
  torch::nn::Dropout dropout{register_module("dropout", torch::nn::Dropout(0.2))};
  torch::nn::Linear out{register_module("out", torch::nn::Linear(64, 3))};
  torch::Tensor forward(const torch::Tensor& x) { return out(dropout(torch::relu(hidden(x)))); }
};

// Three clouds of points; sample i is the same in every process.
torch::data::Example<> clouds(std::span<const motley::SampleIndex> indices) {
  std::vector<torch::Tensor> points, labels;
  for (const auto index : indices) {
    auto generator = at::detail::createCPUGenerator(1 + static_cast<std::uint64_t>(index));
    points.push_back(torch::randn({20}, generator));
    points.back()[index % 3] += 3.0;
    labels.push_back(torch::tensor(static_cast<std::int64_t>(index % 3)));
  }
  return {torch::stack(points), torch::stack(labels)};
}

double accuracy(Net& model) {
  const std::vector<motley::SampleIndex> unseen = {9000, 9001, 9002, 9003, 9004, 9005};
  const auto test = clouds(unseen);
  model.eval();
  return model.forward(test.data).argmax(1).eq(test.target).to(torch::kFloat).mean().item<double>();
}

int main(int argc, char** argv) {
  motley::Session session(argc, argv);
  if (argc > 2 && !std::strcmp(argv[1], "--load")) {
    Net model;
    motley::load_model(argv[2], model);
    std::printf("accuracy %.2f\n", accuracy(model));
    return 0;
  }
  torch::manual_seed(1 + static_cast<std::uint64_t>(session.rank()));
  Net model;
  Net mean;
  torch::optim::Adam optimizer(model.parameters(), 0.01);
  torch::optim::StepLR schedule(optimizer, 2, 0.5);
  int cut = 0;

  motley::Trainer trainer(session, model, optimizer, motley::samples(3000, clouds),
                          {.batch = 60, .epochs = 6, .checkpoint_every = 25});
  trainer.add_state("mean", mean);
  trainer.add_state("schedule", schedule);
  trainer.add_state(
      "cut", [&] { return std::to_string(cut); },
      [&](const std::string& saved) { cut = std::stoi(saved); });

  trainer.before_step([&] { cut += torch::nn::utils::clip_grad_norm_(model.parameters(), 1) > 1; });
  trainer.on_epoch([&](std::int64_t) { schedule.step(); });
  trainer.on_step([&](const motley::Standing& standing) {
    const torch::NoGradGuard no_grad;
    const double weight = standing.own_steps == 1 ? 1 : 0.1;
    for (const auto& item : model.named_parameters()) {
      mean.named_parameters()[item.key()].lerp_(item.value(), weight);
    }
  });
  trainer.fit([&](const auto& batch) {
    return torch::cross_entropy_loss(model.forward(batch.data), batch.target);
  });

  if (session.is_main()) {
    std::printf("%lld samples, accuracy of the mean %.2f, %d gradients cut, weights %.9g\n",
                static_cast<long long>(trainer.result().samples), accuracy(mean), cut,
                mean.out->weight.abs().sum().item<double>());
  }
  return session.exit_code();
}
