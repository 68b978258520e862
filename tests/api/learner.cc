// A program that uses everything: a data set, Adam, BatchNorm, dropout, a learning-rate schedule,
// gradient clipping, a frozen layer, an evaluation. api_test.py starts it as the ranks of a run and
// reads what every rank prints at the end.
//
//   learner [--bare] [--sum] [--loop] [--hidden N] [--rate R] [--throw RANK] [--hook RANK]
//           [--stop STEPS] [--kill STEPS --await DIR] [--die RANK --once FILE] [--twice] [--add
//           NAME]
//
//   --bare     without BatchNorm and dropout: nothing mixes samples or is random
//   --sum      the loss is a sum
//   --loop     its own loop with the usual zero_grad(), instead of fit()
//   --twice    calls finish() twice, which is an error; with --loop
//   --throw    that rank throws in the middle of its third step
//   --hook     that rank throws just before the optimizer's step
//   --kill     every rank kills itself after so many steps of its own
//   --await    but not before this run directory has a checkpoint
//   --die      that rank kills itself in the middle of its 20th step, once: then the file exists
//   --add      adds a state of this name
#include <motley/trainer.h>
#include <signal.h>
#include <sys/resource.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

struct LearnerNet : torch::nn::Module {
  LearnerNet(std::int64_t hidden, bool bare) {
    register_module("frozen", frozen);
    register_module("body", body);
    frozen->weight.set_requires_grad(false);
    torch::nn::init::eye_(frozen->weight);
    body->push_back(torch::nn::Linear(16, hidden));
    if (!bare) {
      body->push_back(torch::nn::BatchNorm1d(hidden));
      body->push_back(torch::nn::Dropout(0.2));
    }
    body->push_back(torch::nn::ReLU());
    body->push_back(torch::nn::Linear(hidden, 4));
  }
  torch::Tensor forward(const torch::Tensor& x) { return body->forward(frozen(x)); }

  torch::nn::Linear frozen{torch::nn::LinearOptions(16, 16).bias(false)};
  torch::nn::Sequential body;
};

// Four clouds of points.
struct FourClouds : torch::data::datasets::Dataset<FourClouds> {
  explicit FourClouds(std::int64_t samples, std::uint64_t seed) {
    auto generator = at::detail::createCPUGenerator(seed);
    labels = torch::randint(4, {samples}, generator, torch::kLong);
    points = torch::randn({samples, 16}, generator) + 4 * torch::one_hot(labels, 16);
  }
  torch::data::Example<> get(std::size_t index) override {
    const auto place = static_cast<std::int64_t>(index);
    return {points[place], labels[place]};
  }
  torch::optional<std::size_t> size() const override { return points.size(0); }

  torch::Tensor points;
  torch::Tensor labels;
};

bool has(int argc, char** argv, const char* flag) {
  return std::any_of(argv, argv + argc, [&](char* word) { return !std::strcmp(word, flag); });
}
int value(int argc, char** argv, const char* flag, int otherwise) {
  char** found = std::find_if(argv, argv + argc, [&](char* w) { return !std::strcmp(w, flag); });
  return found + 1 < argv + argc ? std::stoi(found[1]) : otherwise;
}
std::string text(int argc, char** argv, const char* flag) {
  char** found = std::find_if(argv, argv + argc, [&](char* w) { return !std::strcmp(w, flag); });
  return found + 1 < argv + argc ? found[1] : "";
}

motley::Evaluation evaluate(LearnerNet& model, const FourClouds& test) {
  if (model.is_training() || torch::GradMode::is_enabled()) {
    throw std::runtime_error("evaluated in training mode");
  }
  const auto scores = model.forward(test.points);
  return {torch::cross_entropy_loss(scores, test.labels).item<double>(),
          scores.argmax(1).eq(test.labels).to(torch::kFloat).mean().item<double>()};
}

double total(const std::vector<torch::Tensor>& tensors) {
  double all = 0;
  for (const auto& tensor : tensors) {
    all += tensor.is_floating_point() ? tensor.abs().sum().item<double>() : 0;
  }
  return all;
}

long peak_kilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

// Disks may be slow. A checkpoint that is being written has another name than one that is whole.
void await_checkpoint(const std::filesystem::path& run) {
  const auto is_whole = [](const auto& entry) {
    return std::isdigit(entry.path().filename().string().front()) != 0;
  };
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (std::chrono::steady_clock::now() < deadline) {
    std::error_code none;
    const std::filesystem::directory_iterator checkpoints(run / "checkpoints", none);
    if (std::any_of(begin(checkpoints), end(checkpoints), is_whole)) {
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

void die_once(const std::string& file) {
  if (!std::filesystem::exists(file)) {
    std::ofstream(file) << "dead\n";
    raise(SIGKILL);
  }
}

template <class Trainer>
void print(const motley::Session& session, const Trainer& trainer, const LearnerNet& model,
           double rate, int clipped) {
  const auto& result = trainer.result();
  std::printf(
      "{\"rank\": %d, \"samples\": %lld, \"accuracy\": %.4f, \"parameters\": %.17g, "
      "\"buffers\": %.17g, \"training\": [%d, %d], "
      "\"lr\": %.9g, \"clipped\": %d, \"steps\": %lld, \"epochs\": %lld, \"peak_kb\": %ld}\n",
      session.rank(), static_cast<long long>(result.samples), result.accuracy.value_or(-1),
      total(model.parameters()), total(model.buffers()), model.body->is_training(),
      model.frozen->is_training(), rate, clipped,
      static_cast<long long>(trainer.standing().own_steps),
      static_cast<long long>(trainer.standing().epochs), peak_kilobytes());
}

// A loop of the program's own, instead of fit().
template <class Trainer, class Loss>
void run_loop(Trainer& trainer, torch::optim::Optimizer& optimizer, const Loss& loss_of,
              bool twice) {
  while (auto batch = trainer.begin()) {
    optimizer.zero_grad();
    auto loss = loss_of(*batch);
    loss.backward();
    trainer.finish(loss);
    if (twice) {
      trainer.finish(loss);
    }
  }
}

void fail_as_asked(int argc, char** argv, int rank, std::int64_t steps) {
  if (rank == value(argc, argv, "--throw", -1) && steps == 2) {
    throw std::runtime_error("sample 7 is damaged");
  }
  if (rank == value(argc, argv, "--die", -1) && steps == 19) {
    die_once(text(argc, argv, "--once"));
  }
}

}  // namespace

int main(int argc, char** argv) {
  motley::Session session(argc, argv);
  torch::manual_seed(1 + static_cast<std::uint64_t>(session.rank()));  // different on purpose
  const bool bare = has(argc, argv, "--bare");
  auto model = std::make_shared<LearnerNet>(value(argc, argv, "--hidden", 32), bare);
  model->frozen->eval();  // the program's choice must be kept
  torch::optim::Adam optimizer(model->body->parameters(), 0.01 * value(argc, argv, "--rate", 1));
  torch::optim::StepLR schedule(optimizer, 1, 0.5);
  FourClouds test(400, 2);
  int clipped = 0;

  motley::Options options{.batch = 60, .epochs = 3, .eval_every = 20};
  motley::Trainer trainer(session, model, optimizer,
                          FourClouds(1500, 1).map(torch::data::transforms::Stack<>()), options);
  trainer.before_step([&] {
    if (session.rank() == value(argc, argv, "--hook", -1)) {
      throw std::runtime_error("sample 7 is damaged");
    }
    torch::nn::utils::clip_grad_norm_(model->body->parameters(), 1.0);
    ++clipped;
  });
  trainer.on_epoch([&](std::int64_t) { schedule.step(); });
  trainer.add_state("schedule", schedule);
  trainer.add_state(
      "clipped", [&] { return std::to_string(clipped); },
      [&](const std::string& saved) { clipped = std::stoi(saved); });
  if (const std::string name = text(argc, argv, "--add"); !name.empty()) {
    trainer.add_state(name, torch::zeros({2}));
  }
  trainer.on_step([&](const motley::Standing& standing) {
    if (standing.own_steps == value(argc, argv, "--stop", -1)) {
      trainer.stop();
    }
    if (standing.own_steps == value(argc, argv, "--kill", -1)) {
      await_checkpoint(text(argc, argv, "--await"));
      raise(SIGKILL);
    }
  });
  trainer.evaluate_with([&] { return evaluate(*model, test); });

  const bool sum = has(argc, argv, "--sum");
  trainer.set_reduction(sum ? motley::Reduction::kMeanOfSum : motley::Reduction::kMean);
  const auto loss_of = [&](const torch::data::Example<>& batch) {
    fail_as_asked(argc, argv, session.rank(), trainer.standing().own_steps);
    return torch::cross_entropy_loss(model->forward(batch.data), batch.target, {},
                                     sum ? at::Reduction::Sum : at::Reduction::Mean);
  };
  if (has(argc, argv, "--loop")) {
    run_loop(trainer, optimizer, loss_of, has(argc, argv, "--twice"));
  } else {
    trainer.fit(loss_of);
  }

  const double rate =
      static_cast<torch::optim::AdamOptions&>(optimizer.param_groups()[0].options()).lr();
  print(session, trainer, *model, rate, clipped);
  return session.exit_code();
}
