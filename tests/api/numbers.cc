// A program whose ranks agree on numbers: weights of losses, sums of losses, learning rates,
// counts, results of evaluations, the moment to stop. numbers_test.py starts it as the ranks of a
// run and compares what every rank prints at the end.
//
//   numbers [--weights all|none|main] [--mask-all] [--reduction mean|sum|mean_of_sum] [--rate R]
//           [--batch N] [--steps N] [--epochs N] [--eval-epochs N] [--no-accuracy] [--stop STEPS
//           --stopper RANK] [--patience N] [--unknown-count] [--sums]
//
//   --weights    who gives finish() the number of tokens that are not masked (default: none)
//   --mask-all   all of them are masked
//   --rate       the learning rate of the first batch; it halves with every batch
//   --stop       --stopper stops the run after so many steps of its own
//   --patience   every rank stops when it has heard of so many evaluations
//   --sums       sums over all ranks after the run
#include <motley/trainer.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

namespace {

constexpr std::int64_t kTokens = 6;  // in a sample
constexpr std::int64_t kMasked = -100;

// Sequences of tokens of which some are masked; every eighth sample has none that counts.
struct MaskedTokens : torch::data::datasets::Dataset<MaskedTokens> {
  explicit MaskedTokens(bool masks_all) {
    auto generator = at::detail::createCPUGenerator(3);
    inputs = torch::randn({100, kTokens, 8}, generator);
    targets = torch::randint(4, {100, kTokens}, generator, torch::kLong);
    for (std::int64_t sample = 0; sample < 100; ++sample) {
      const std::int64_t length = masks_all || sample % 8 == 0 ? 0 : sample % kTokens + 1;
      targets[sample].slice(0, length).fill_(kMasked);
    }
  }
  torch::data::Example<> get(std::size_t index) override {
    const auto place = static_cast<std::int64_t>(index);
    return {inputs[place], targets[place]};
  }
  torch::optional<std::size_t> size() const override { return 100; }

  torch::Tensor inputs;
  torch::Tensor targets;
};

class Arguments {
 public:
  Arguments(int argc, char** argv) : words_(argv, argv + argc) {}
  bool has(const std::string& flag) const { return std::ranges::count(words_, flag) > 0; }
  std::string text(const std::string& flag, const std::string& otherwise) const {
    const auto found = std::ranges::find(words_, flag);
    return found != words_.end() && found + 1 != words_.end() ? found[1] : otherwise;
  }
  std::int64_t number(const std::string& flag, std::int64_t otherwise) const {
    return std::stoll(text(flag, std::to_string(otherwise)));
  }

 private:
  std::vector<std::string> words_;
};

motley::Reduction reduction_of(const std::string& name) {
  return name == "sum"           ? motley::Reduction::kSum
         : name == "mean_of_sum" ? motley::Reduction::kMeanOfSum
                                 : motley::Reduction::kMean;
}

motley::Options options_of(const Arguments& arguments) {
  motley::Options options{.batch = arguments.number("--batch", 20),
                          .epochs = arguments.number("--epochs", 4),
                          .eval_every = 0,
                          .eval_every_epochs = arguments.number("--eval-epochs", 0)};
  if (arguments.has("--steps")) {
    options.steps = arguments.number("--steps", 1);
  }
  options.counts = {"seen", "tokens"};
  return options;
}

torch::Tensor loss_of(torch::nn::Linear& model, const torch::data::Example<>& batch,
                      motley::Reduction reduction) {
  auto options = torch::nn::functional::CrossEntropyFuncOptions().ignore_index(kMasked);
  if (reduction != motley::Reduction::kMean) {
    options.reduction(torch::kSum);
  }
  return torch::nn::functional::cross_entropy(model->forward(batch.data).view({-1, 4}),
                                              batch.target.view(-1), options);
}

nlohmann::json numbers_of(const torch::Tensor& tensor) {
  const torch::Tensor flat = tensor.detach().contiguous().view(-1);
  return std::vector<float>(flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel());
}

// What every hook notes for the end, and what it does.
template <class Trainer>
void set_hooks(const motley::Session& session, Trainer& trainer, const Arguments& arguments,
               torch::nn::Linear& model, torch::optim::SGD& optimizer, nlohmann::json& said) {
  trainer.schedule(
      [rate = optimizer.param_groups()[0].options().get_lr()](const motley::Standing& standing) {
        return std::ldexp(rate, -static_cast<int>(std::min<std::int64_t>(standing.batches, 40)));
      });
  trainer.on_step([&](const motley::Standing& standing) {
    said["rates"].push_back(optimizer.param_groups()[0].options().get_lr());
    said["losses"].push_back(standing.loss);
    said["batches"].push_back(standing.batches);
    if (standing.own_steps == arguments.number("--stop", -1) &&
        session.rank() == arguments.number("--stopper", 1)) {
      trainer.stop();
    }
  });
  trainer.evaluate_with([&](const motley::Standing& judged) {
    said["judged"].push_back(judged.samples);
    motley::Evaluation evaluation{.loss = 1};
    if (!arguments.has("--no-accuracy")) {
      evaluation.accuracy = 0.25;
    }
    evaluation.metrics["weight"] = model->weight.abs().sum().template item<double>();
    return evaluation;
  });
  trainer.on_evaluation([&](const motley::Standing& judged, const motley::Evaluation& evaluation) {
    said["heard"].push_back({judged.samples, judged.epochs, trainer.standing().own_steps,
                             evaluation.metrics.at("weight")});
    if (std::ssize(said["heard"]) == arguments.number("--patience", -1)) {
      trainer.stop();
    }
  });
}

template <class Trainer>
void train(const motley::Session& session, Trainer& trainer, const Arguments& arguments,
           torch::nn::Linear& model, motley::Reduction reduction) {
  const std::string weights = arguments.text("--weights", "none");
  const bool has_weights = weights == "all" || (weights == "main" && session.is_main());
  while (auto batch = trainer.begin()) {
    auto loss = loss_of(model, *batch, reduction);
    loss.backward();
    const auto tokens = batch->target.ne(kMasked).sum().template item<std::int64_t>();
    trainer.count("seen", static_cast<double>(batch->data.size(0)));
    trainer.count(arguments.has("--unknown-count") ? "words" : "tokens",
                  static_cast<double>(tokens));
    has_weights ? trainer.finish(loss, {.weight = tokens}) : trainer.finish(loss);
  }
}

void sum_over_ranks(motley::Session& session, nlohmann::json& said) {
  const double large = session.rank() * 1e9 + 1;
  const auto parts = torch::tensor({1.5, 0.25, large - 1, -2.0 * session.rank()});
  said["sum"] = numbers_of(motley::sum(session, parts.to(torch::kFloat)));
  std::vector<double> numbers = {large};
  session.sum(numbers);
  said["exact_sum"] = numbers[0];
}

}  // namespace

int main(int argc, char** argv) {
  motley::Session session(argc, argv);
  const Arguments arguments(argc, argv);
  torch::manual_seed(1);
  torch::nn::Linear model(8, 4);
  torch::optim::SGD optimizer(model->parameters(), std::stod(arguments.text("--rate", "0.1")));
  motley::Trainer trainer(
      session, model, optimizer,
      MaskedTokens(arguments.has("--mask-all")).map(torch::data::transforms::Stack<>()),
      options_of(arguments));
  const auto reduction = reduction_of(arguments.text("--reduction", "mean"));
  trainer.set_reduction(reduction);
  nlohmann::json said = {{"rank", session.rank()}};
  set_hooks(session, trainer, arguments, model, optimizer, said);
  train(session, trainer, arguments, model, reduction);

  const auto standing = trainer.standing();
  said["weight"] = numbers_of(model->weight);
  said["bias"] = numbers_of(model->bias);
  said["steps"] = standing.own_steps;
  said["counts"] = standing.counts;
  said["samples"] = trainer.result().samples;
  said["stopped"] = trainer.result().stopped.value_or("");
  said["has_accuracy"] = trainer.result().accuracy.has_value();
  if (arguments.has("--sums")) {
    sum_over_ranks(session, said);
  }
  std::printf("%s\n", said.dump().c_str());
  return session.exit_code();
}
